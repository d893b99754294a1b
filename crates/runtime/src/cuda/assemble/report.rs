//! What the assembler says of a kernel's registers.
//!
//! ```text
//! ptxas         .     0 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
//! ptxas info    : Used 64 registers, used 1 barriers
//! ```

/// Registers and spills of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Registers of one thread; `None` if the assembler did not say.
    pub registers: Option<u32>,
    /// Bytes of registers that one thread keeps in memory, stores and loads together.
    pub spilled_bytes: Option<u32>,
}

impl Report {
    /// Reads the log of `ptxas -v`, which nvJitLink writes alike.
    pub fn parse(log: &str) -> Report {
        let registers = number_before(log, " registers");
        let spills = [" bytes spill stores", " bytes spill loads"].map(|unit| number_before(log, unit));
        let spilled_bytes = spills[0].zip(spills[1]).map(|(stores, loads)| stores + loads);
        Report { registers, spilled_bytes }
    }
}

/// The number that stands before `unit`, where it occurs first.
fn number_before(log: &str, unit: &str) -> Option<u32> {
    let before = &log[..log.find(unit)?];
    let digits = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |last| last + 1);
    before[digits..].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn logs_of_both_assemblers_are_read() {
        let ptxas = "ptxas info    : 0 bytes gmem\n\
                     ptxas info    : Compiling entry function 'k' for 'sm_90a'\n\
                     ptxas info    : Function properties for k\n    \
                     8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads\n\
                     ptxas info    : Used 64 registers, used 1 barriers\n";
        assert_eq!(Report::parse(ptxas), Report { registers: Some(64), spilled_bytes: Some(40) });
        let linker = "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
                      ptxas info    : Used 8 registers, used 0 barriers\n";
        assert_eq!(Report::parse(linker), Report { registers: Some(8), spilled_bytes: Some(0) });
    }

    #[test]
    fn silence_is_no_number() {
        assert_eq!(Report::parse(""), Report::default());
        assert_eq!(Report::parse("some registers, spills"), Report::default());
    }
}
