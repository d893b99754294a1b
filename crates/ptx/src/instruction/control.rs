//! Branches, the ends of threads, and hints to the scheduler.

use super::Form;
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{Label, Modifier, Operand};

/// `bra`: a jump, under the guard if there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Whether all lanes of the warp take the same way.
    pub uniform: bool,
    /// Where to.
    pub target: Label,
}

impl Form for Branch {
    const NAMES: &'static [&'static str] = &["bra"];

    fn print(&self, out: &mut Printer) {
        out.name("bra").flag(self.uniform, "uni").label(self.target);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Branch> {
        Ok(Branch { uniform: name.flag("uni"), target: operands.label()? })
    }
}

modifier! {
    /// Instructions without operands.
    Control {
        Return = "ret",
        Exit = "exit",
        /// Aborts the grid with an error.
        Trap = "trap",
        Breakpoint = "brkpt",
        /// Grids that depend on this one may start.
        LaunchDependents = "griddepcontrol.launch_dependents",
        /// Waits for the grids that this one depends on, and their memory.
        WaitForDependencies = "griddepcontrol.wait",
    }
}

impl Form for Control {
    const NAMES: &'static [&'static str] =
        &["ret", "exit", "trap", "brkpt", "griddepcontrol.launch_dependents", "griddepcontrol.wait"];

    fn print(&self, out: &mut Printer) {
        out.name(self.text());
    }

    fn parse(name: &mut Name<'_>, _: &mut Parser<'_>) -> Result<Control> {
        Control::from_text(name.prefix).ok_or_else(|| name.unexpected("an instruction"))
    }

    fn requirement(&self) -> Requirement {
        let dependent = matches!(self, Control::LaunchDependents | Control::WaitForDependencies);
        Requirement::from(90, 7, 8).when(dependent)
    }
}

/// `nanosleep`: suspends the thread for about so long.
#[derive(Clone, Debug, PartialEq)]
pub struct Nanosleep {
    /// Nanoseconds, up to a million.
    pub time: Operand,
}

impl Form for Nanosleep {
    const NAMES: &'static [&'static str] = &["nanosleep.u32"];

    fn print(&self, out: &mut Printer) {
        out.name("nanosleep.u32").operand(self.time);
    }

    fn parse(_: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Nanosleep> {
        Ok(Nanosleep { time: operands.operand()? })
    }
}

/// `setmaxnreg`: a warpgroup takes or gives back registers.
#[derive(Clone, Debug, PartialEq)]
pub struct SetMaxRegisters {
    /// Whether there will be more.
    pub increase: bool,
    /// The registers of a thread, a multiple of 8 from 24 to 256.
    pub count: u32,
}

impl Form for SetMaxRegisters {
    const NAMES: &'static [&'static str] =
        &["setmaxnreg.inc.sync.aligned.u32", "setmaxnreg.dec.sync.aligned.u32"];

    fn print(&self, out: &mut Printer) {
        out.name(Self::NAMES[usize::from(!self.increase)]).operand(i64::from(self.count));
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<SetMaxRegisters> {
        Ok(SetMaxRegisters { increase: name.prefix == Self::NAMES[0], count: operands.count()? })
    }

    fn requirement(&self) -> Requirement {
        Requirement::specific_from(90, 8, 0)
    }
}
