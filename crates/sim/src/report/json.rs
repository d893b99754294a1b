//! Reports as JSON, for programs.

use super::{Finding, InstructionReport, Report};
use std::fmt::Write;

impl Report {
    /// The report as one JSON object: `programs`, `warp_instructions`, `lane_instructions`, `bytes` of each space, `bank_conflicts`,
    /// `excess_sectors`, `barriers`, `instructions` with the counts of each, `findings`, and `printed`.
    pub fn to_json(&self) -> String {
        let traffic = &self.traffic;
        let mut out = String::from("{");
        for (name, value) in [
            ("programs", self.programs),
            ("warp_instructions", self.warp_instructions()),
            ("lane_instructions", self.lane_instructions()),
            ("bank_conflicts", self.bank_conflicts()),
            ("excess_sectors", self.excess_sectors()),
            ("barriers", self.barriers()),
        ] {
            out.push_str(&format!("\"{name}\": {value}, "));
        }
        let spaces = [
            ("global", traffic.global_read, traffic.global_written),
            ("shared", traffic.shared_read, traffic.shared_written),
            ("local", traffic.local_read, traffic.local_written),
        ];
        let spaces = spaces
            .map(|(name, read, written)| format!("\"{name}\": {{\"read\": {read}, \"written\": {written}}}"));
        out.push_str(&format!("\"bytes\": {{{}}}, ", spaces.join(", ")));
        let instructions: Vec<String> = self.instructions.iter().map(instruction).collect();
        let findings: Vec<String> = self.findings.iter().map(finding).collect();
        out.push_str(&format!("\"instructions\": [{}], ", instructions.join(", ")));
        out.push_str(&format!("\"findings\": [{}], ", findings.join(", ")));
        out.push_str(&format!("\"printed\": {}}}", quoted(&self.printed)));
        out
    }
}

fn instruction(one: &InstructionReport) -> String {
    let counts = &one.counts;
    format!(
        "{{\"name\": {}, \"ptx_line\": {}, \"source\": {}, \"warps\": {}, \"lanes\": {}, \"bytes\": {}, \"bank_conflicts\": {}}}",
        quoted(&one.instruction),
        one.ptx_line,
        source(one.source.as_ref()),
        counts.warps,
        counts.lanes,
        counts.bytes,
        counts.wavefronts - counts.ideal_wavefronts
    )
}

fn finding(one: &Finding) -> String {
    let [x, y, z] = one.program;
    format!(
        "{{\"kind\": {}, \"message\": {}, \"instruction\": {}, \"ptx_line\": {}, \"other_ptx_line\": {}, \"source\": {}, \
         \"program\": [{x}, {y}, {z}], \"warp\": {}, \"lane\": {}, \"address\": {}, \"occurrences\": {}}}",
        quoted(one.kind.name()),
        quoted(&one.message),
        quoted(&one.instruction),
        one.ptx_line,
        optional(one.other_ptx_line),
        source(one.source.as_ref()),
        one.warp,
        optional(one.lane),
        optional(one.address),
        one.occurrences
    )
}

fn optional<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

fn source(place: Option<&(String, u32, u32)>) -> String {
    place.map_or_else(
        || "null".to_owned(),
        |(file, line, column)| {
            format!("{{\"file\": {}, \"line\": {line}, \"column\": {column}}}", quoted(file))
        },
    )
}

/// A string in quotes.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // Writing to a string does not fail.
            c if c < ' ' => drop(write!(out, "\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted() {
        assert_eq!(quoted("a\"b\\c\n"), r#""a\"b\\c\u000a""#);
    }

    #[test]
    fn an_empty_report_is_an_object() {
        let text = Report::default().to_json();
        assert!(
            text.starts_with("{\"programs\": 0, ") && text.ends_with("\"findings\": [], \"printed\": \"\"}"),
            "{text}"
        );
    }
}
