//! `vprintf`: a format and packed arguments to text.

use super::cluster::Cluster;
use super::fault::At;
use super::global;
use super::warp::lanes;
use crate::program::{LANES, Slot, Window};

impl Cluster<'_> {
    pub(super) fn print(&mut self, at: At, format: Slot, arguments: Slot, result: Option<Slot>) {
        for lane in lanes(at.lanes) {
            let warp = &self.warps[at.warp];
            let (format, arguments) = (warp.row(format)[lane], warp.row(arguments)[lane]);
            let format = self.text(at, lane, format);
            let mut offset = 0u32;
            let line = formatted(&format, |bytes| {
                offset = offset.next_multiple_of(bytes);
                let window = Window::of(arguments + u64::from(offset));
                offset += bytes;
                self.word(at, lane, window, bytes)
            });
            let block = self.warps[at.warp].block;
            self.blocks[block].printed.push_str(&line);
        }
        if let Some(slot) = result {
            self.warps[at.warp].write(slot, &[1; LANES], at.lanes);
        }
    }

    /// Text up to a zero.
    fn text(&mut self, at: At, lane: usize, address: u64) -> String {
        let mut bytes = Vec::new();
        while self.is_valid(at, lane, Window::Global(address + bytes.len() as u64), 1, 1, false) {
            // SAFETY: the byte is within an array, or believed.
            match unsafe { global::read(address + bytes.len() as u64, 1) } as u8 {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn word(&mut self, at: At, lane: usize, window: Window, bytes: u32) -> u64 {
        if !self.is_valid(at, lane, window, bytes, bytes, false) {
            return 0;
        }
        match window {
            // SAFETY: the address is within an array, or believed, and aligned.
            Window::Global(address) => unsafe { global::read(address, bytes) },
            Window::Shared(address) => self.read_shared(address, bytes),
            Window::Local(address) => self.read_local(at, lane, address, bytes),
            Window::Parameter(_) => 0,
        }
    }

    /// Keeps what blocks have printed when the launch stops.
    pub(super) fn end_printing(&mut self) {
        for block in &mut self.blocks {
            if !block.printed.is_empty() {
                self.collector.printed.push((block.number, std::mem::take(&mut block.printed)));
            }
        }
    }
}

/// Text as `printf` makes it; `argument` gives the next one of so many bytes.
fn formatted(format: &str, mut argument: impl FnMut(u32) -> u64) -> String {
    let mut out = String::new();
    let mut rest = format.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut flags = String::new();
        let mut long = false;
        while let Some(&next) = rest.peek() {
            match next {
                'l' => long = true,
                '0'..='9' | '-' | '+' | ' ' | '.' | '#' => flags.push(next),
                _ => break,
            }
            rest.next();
        }
        let bytes = if long { 8 } else { 4 };
        match rest.next() {
            Some('d' | 'i') => {
                let value = argument(bytes);
                let value = if long { value as i64 } else { i64::from(value as i32) };
                out.push_str(&padded(value.to_string(), &flags));
            }
            Some('u') => out.push_str(&padded(argument(bytes).to_string(), &flags)),
            Some('x') => out.push_str(&padded(format!("{:x}", argument(bytes)), &flags)),
            Some('f' | 'g' | 'e') => {
                let value = f64::from_bits(argument(8));
                let places = flags.split_once('.').and_then(|(_, places)| places.parse().ok()).unwrap_or(6);
                let text = match value {
                    value if value.is_nan() => "nan".to_owned(),
                    value if value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.to_owned(),
                    value => format!("{value:.places$}"),
                };
                out.push_str(&padded(text, &flags));
            }
            Some('c') => out.push(argument(4) as u8 as char),
            Some('p') => out.push_str(&format!("{:#x}", argument(8))),
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

/// Text as wide as the flags say.
fn padded(text: String, flags: &str) -> String {
    let width = flags.split('.').next().unwrap_or_default();
    let left = width.contains('-');
    let zeros = width.trim_start_matches(['-', '+', ' ', '#']).starts_with('0');
    let count: usize = width.trim_start_matches(['-', '+', ' ', '#', '0']).parse().unwrap_or(0);
    match (left, zeros) {
        (true, _) => format!("{text:<count$}"),
        (false, true) => format!("{text:0>count$}"),
        (false, false) => format!("{text:>count$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::formatted;

    #[test]
    fn formats_are_those_of_printf() {
        let mut values = [7u64, (-1i32) as u32 as u64, u64::MAX, 0xab, 1.5f64.to_bits()].into_iter();
        let text = formatted("pid (%d, %d) %lld 0x%04x %f%%\n", |_| values.next().unwrap());
        assert_eq!(text, "pid (7, -1) -1 0x00ab 1.500000%\n");
    }
}
