//! The layouts of a function as text, for `--emit layouts` and for tests.

use super::{Assignment, LayoutId};
use std::fmt::Write as _;
use tegula_ir::{Function, RegionId};

impl Assignment {
    /// Each layout that is used, then each operation's results: `in #1, converted to #2`, or `in #1, #2` where
    /// they are computed in both.
    pub fn describe(&self, function: &Function) -> String {
        let mut lines = String::new();
        let mut used: Vec<LayoutId> = Vec::new();
        self.describe_region(function, function.body, 0, &mut used, &mut lines);
        let mut text = String::new();
        used.sort_unstable();
        for (id, layout) in self.set.iter().filter(|(id, _)| used.contains(id)) {
            let _ = writeln!(text, "#{}:", id.0);
            for line in layout.to_string().lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
        text + &lines
    }

    fn describe_region(
        &self,
        function: &Function,
        region: RegionId,
        depth: usize,
        used: &mut Vec<LayoutId>,
        lines: &mut String,
    ) {
        for &op in &function.region(region).ops {
            let data = function.op(op);
            let place = function.sources.describe(data.span);
            for &result in &data.results {
                let home = self.home[result.0 as usize];
                let others: Vec<LayoutId> =
                    self.wanted[result.0 as usize].iter().copied().filter(|&id| Some(id) != home).collect();
                if home.is_none() && others.is_empty() {
                    continue;
                }
                let names: Vec<String> = others.iter().map(|id| format!("#{}", id.0)).collect();
                let names = names.join(", ");
                let layouts = match home {
                    None => names,
                    Some(home) if others.is_empty() => format!("#{}", home.0),
                    Some(home) => format!("#{}, converted to {names}", home.0),
                };
                let (indent, name) = ("  ".repeat(depth), op_name(&data.op));
                let ty = function.ty(result);
                let _ = writeln!(lines, "{indent}{name}: {ty} in {layouts} at {place}");
                used.extend(home);
                used.extend(others);
            }
            for inner in data.op.regions() {
                self.describe_region(function, inner, depth + 1, used, lines);
            }
        }
    }
}

/// The variant's name, in lower case.
pub(crate) fn op_name(op: &tegula_ir::Op) -> String {
    let debug = format!("{op:?}");
    let name = debug.split([' ', '(', '{']).next().unwrap_or_default();
    match op {
        tegula_ir::Op::Unary { op, .. } => format!("{op:?}").to_lowercase(),
        tegula_ir::Op::Binary { op, .. } => format!("{op:?}").to_lowercase(),
        _ => name.to_lowercase(),
    }
}
