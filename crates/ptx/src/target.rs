//! Architectures, PTX versions, and what an instruction asks of them.

use std::fmt;

/// A version of the PTX language, such as 8.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// Before the point.
    pub major: u8,
    /// After it.
    pub minor: u8,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Whether code may use what only this very architecture has (the suffix `a`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Features {
    /// Runs on this architecture and later ones.
    Portable,
    /// Runs on this architecture alone.
    Specific,
}

/// A `.target`, such as `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// The number after `sm_`.
    pub architecture: u32,
    /// The suffix.
    pub features: Features,
}

impl Target {
    /// The portable target of an architecture.
    pub const fn portable(architecture: u32) -> Target {
        Target { architecture, features: Features::Portable }
    }

    /// The target with the features of this architecture alone.
    pub const fn specific(architecture: u32) -> Target {
        Target { architecture, features: Features::Specific }
    }

    /// The target written `sm_80`, `sm_90a` and so on.
    pub fn from_text(text: &str) -> Option<Target> {
        let number = text.strip_prefix("sm_")?;
        let (number, features) = match number.strip_suffix('a') {
            Some(number) => (number, Features::Specific),
            None => (number, Features::Portable),
        };
        Some(Target { architecture: number.parse().ok()?, features })
    }

    /// The first version of PTX that knows the target.
    pub fn first_version(self) -> Version {
        let (major, minor) = match (self.architecture, self.features) {
            (..=80, _) => (7, 0),
            (..=86, _) => (7, 1),
            (..=87, _) => (7, 4),
            (..=89, _) | (90, Features::Portable) => (7, 8),
            (90, Features::Specific) => (8, 0),
            (..=101, _) => (8, 6),
            (120, _) => (8, 7),
            _ => (8, 8),
        };
        Version { major, minor }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = if self.features == Features::Specific { "a" } else { "" };
        write!(f, "sm_{}{suffix}", self.architecture)
    }
}

/// The architectures that have an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Availability {
    /// From one on.
    From(u32),
    /// From one on, in code for that architecture alone.
    SpecificFrom(u32),
    /// One alone.
    Only(u32),
}

/// What an instruction asks of the module that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// The architectures that have it.
    pub availability: Availability,
    /// The first version of PTX that has it.
    pub version: Version,
}

impl Requirement {
    /// What every supported target and version has.
    pub const BASE: Requirement = Requirement::from(80, 7, 0);

    /// An instruction of this architecture and later ones.
    pub const fn from(architecture: u32, major: u8, minor: u8) -> Requirement {
        Requirement { availability: Availability::From(architecture), version: Version { major, minor } }
    }

    /// An instruction of this architecture and later ones that needs the suffix `a`.
    pub const fn specific_from(architecture: u32, major: u8, minor: u8) -> Requirement {
        Requirement {
            availability: Availability::SpecificFrom(architecture),
            version: Version { major, minor },
        }
    }

    /// An instruction of this architecture alone.
    pub const fn only(architecture: u32, major: u8, minor: u8) -> Requirement {
        Requirement { availability: Availability::Only(architecture), version: Version { major, minor } }
    }

    /// The stronger of two requirements whose architectures are alike in kind; `Only` is strongest.
    pub fn and(self, other: Requirement) -> Requirement {
        let rank = |requirement: Requirement| match requirement.availability {
            Availability::From(architecture) => (0, architecture),
            Availability::SpecificFrom(architecture) => (1, architecture),
            Availability::Only(architecture) => (2, architecture),
        };
        let availability = if rank(self) >= rank(other) { self.availability } else { other.availability };
        Requirement { availability, version: self.version.max(other.version) }
    }

    /// The requirement, or the base where the condition does not hold.
    pub fn when(self, condition: bool) -> Requirement {
        if condition { self } else { Requirement::BASE }
    }

    /// Whether an architecture has the instruction, whatever the suffix.
    pub fn is_met_by(self, architecture: u32) -> bool {
        match self.availability {
            Availability::From(first) | Availability::SpecificFrom(first) => architecture >= first,
            Availability::Only(only) => architecture == only,
        }
    }

    /// Whether the suffix `a` is needed.
    pub fn needs_suffix(self) -> bool {
        !matches!(self.availability, Availability::From(_))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.availability {
            Availability::From(architecture) => write!(f, "sm_{architecture} or later"),
            Availability::SpecificFrom(architecture) => write!(f, "sm_{architecture}a or later"),
            Availability::Only(architecture) => write!(f, "sm_{architecture}a"),
        }
    }
}
