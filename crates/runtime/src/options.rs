//! Launch options: how a kernel is to be spread over the hardware.

use crate::error::Error;

/// The options of a launch. They change how fast a kernel runs, never what it computes; the CPU has no use for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Warps of 32 threads that run one program of the grid.
    pub num_warps: u32,
    /// Stages of a software-pipelined loop.
    pub num_stages: u32,
    /// Programs of one cluster: that many neighbours along the first axis of the grid run close together.
    pub num_ctas: u32,
    /// At most this many registers a thread; `None` leaves it to the compiler.
    pub maxnreg: Option<u32>,
    /// Whether all programs run at once, so that they may wait for one another (`launch_cooperative_grid`).
    pub cooperative: bool,
    /// Whether a product and a sum of floats become one instruction that rounds once (`enable_fp_fusion`); the CPU never does that.
    pub contracts: bool,
    /// Whether the code may be one that launches must make tensor maps for, as this crate's do.
    pub bulk_copies: bool,
    /// Whether the launch may begin before the one before it has ended (`launch_pdl`).
    pub overlapping: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            num_warps: 4,
            num_stages: 3,
            num_ctas: 1,
            maxnreg: None,
            cooperative: false,
            contracts: true,
            bulk_copies: true,
            overlapping: false,
        }
    }
}

impl Options {
    /// What the compiled code depends on: the options without those of launches alone.
    pub fn of_code(self) -> Options {
        Options { num_ctas: 1, cooperative: false, overlapping: false, ..self }
    }

    /// Sets the option called `name`; `Ok(false)` if there is none of that name.
    ///
    /// # Errors
    /// A value that no target could run with: every kernel would be refused on some machine, so it is refused on all.
    pub fn set(&mut self, name: &str, value: i64) -> Result<bool, Error> {
        let refuse = |rule: &str| Err(Error::Option(format!("{name} must be {rule}, not {value}")));
        match name {
            "num_warps" => match u32::try_from(value) {
                Ok(warps) if warps.is_power_of_two() && warps <= 32 => self.num_warps = warps,
                _ => return refuse("a power of 2 from 1 to 32"),
            },
            "num_ctas" => match u32::try_from(value) {
                Ok(ctas) if ctas.is_power_of_two() && ctas <= 16 => self.num_ctas = ctas,
                _ => return refuse("a power of 2 from 1 to 16"),
            },
            "num_stages" => match u32::try_from(value) {
                Ok(stages) => self.num_stages = stages,
                _ => return refuse("0 or more"),
            },
            "maxnreg" => match u32::try_from(value) {
                Ok(registers) if registers > 0 => self.maxnreg = Some(registers),
                _ => return refuse("positive"),
            },
            "enable_fp_fusion" => self.contracts = value != 0,
            "launch_cooperative_grid" => self.cooperative = value != 0,
            "launch_pdl" => self.overlapping = value != 0,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn accepts_what_hardware_can_do() {
        let mut options = Options::default();
        assert!(options.set("num_warps", 8).unwrap());
        assert!(options.set("num_stages", 0).unwrap());
        assert!(options.set("maxnreg", 128).unwrap());
        assert!(options.set("launch_pdl", 1).unwrap());
        let expected = Options {
            num_warps: 8,
            num_stages: 0,
            maxnreg: Some(128),
            overlapping: true,
            ..Options::default()
        };
        assert_eq!(options, expected);
        assert_eq!(options.of_code(), Options { overlapping: false, ..expected });
        assert!(!options.set("BLOCK", 8).unwrap());
    }

    #[test]
    fn names_the_rule_that_is_broken() {
        for (name, value) in [("num_warps", 3), ("num_warps", 0), ("num_warps", 64), ("num_ctas", -1)] {
            let message = Options::default().set(name, value).unwrap_err().to_string();
            assert!(
                message.contains(name)
                    && message.contains("power of 2")
                    && message.contains(&value.to_string())
            );
        }
    }
}
