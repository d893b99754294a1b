//! Kernels on rows, whose code is planned as a whole, against the same instructions one by one.

use crate::harness::{Random, address, program, run, run_checked};
use tegula_cpu::{ArrayRange, LaunchOptions};

/// Elements of the memory that random kernels read and write.
const MEMORY: usize = 12_000;
/// Elements from the start of the memory to where offsets of 0 are.
const MIDDLE: usize = 4_000;

/// The text of a random kernel in the making.
struct Writer<'r> {
    random: &'r mut Random,
    text: String,
    count: usize,
    names: usize,
    /// The blocks of int32, the masks, and the scalars of int32 there are.
    blocks: Vec<String>,
    /// Blocks of int64 and of int8.
    wide: Vec<String>,
    narrow: Vec<String>,
    masks: Vec<String>,
    scalars: Vec<String>,
    /// Scalars between -300 and 300, and two beyond what they reach, for offsets.
    offsets: Vec<String>,
}

impl Writer<'_> {
    fn line(&mut self, expression: &str) -> String {
        let name = format!("%v{}", self.names);
        self.names += 1;
        self.text += &format!("  {name} = {expression}\n");
        name
    }

    fn ty(&self, element: &str) -> String {
        format!("<{}x{element}>", self.count)
    }

    fn pick(random: &mut Random, names: &[String]) -> String {
        // Recent values more often, so that chains become long.
        let back = random.below(names.len() as u64).min(random.below(names.len() as u64));
        names[names.len() - 1 - back as usize].clone()
    }

    fn block(&mut self) -> String {
        Self::pick(self.random, &self.blocks)
    }

    fn splat(&mut self, scalar: &str) -> String {
        let ty = self.ty("i32");
        self.line(&format!("splat {scalar} : {ty}"))
    }

    /// A block that something else has mostly just read.
    fn computed(&mut self) -> String {
        let (value, other, i32) = (self.block(), self.block(), self.ty("i32"));
        match self.random.below(3) {
            0 => value,
            _ => {
                let result = self.line(&format!("xor {value}, {other} : {i32}"));
                let read = self.line(&format!("add {result}, {other} : {i32}"));
                self.blocks.push(read);
                result
            }
        }
    }

    /// Consecutive addresses from a random place on.
    fn pointers(&mut self) -> String {
        let offset = Self::pick(self.random, &self.offsets);
        let (i32, pointer) = (self.ty("i32"), self.ty("*i32"));
        if self.random.below(2) == 0 {
            let start = self.line(&format!("add_pointer %middle, {offset} : *i32"));
            let starts = self.line(&format!("splat {start} : {pointer}"));
            return self.line(&format!("add_pointer {starts}, %range : {pointer}"));
        }
        let offset = self.splat(&offset);
        let mut offsets = self.line(&format!("add {offset}, %range : {i32}"));
        if self.random.below(3) == 0 {
            let i64 = self.ty("i64");
            offsets = self.line(&format!("cast {offsets} : {i64}"));
            if self.random.below(2) == 0 {
                let zero = self.line("constant 0 : i64");
                let zeros = self.line(&format!("splat {zero} : {i64}"));
                offsets = self.line(&format!("sub {offsets}, {zeros} : {i64}"));
            }
        }
        let starts = self.line(&format!("splat %middle : {pointer}"));
        self.line(&format!("add_pointer {starts}, {offsets} : {pointer}"))
    }

    /// ` mask %m`, or nothing.
    fn mask(&mut self) -> String {
        match self.random.below(3) {
            0 => String::new(),
            _ => format!(" mask {}", Self::pick(self.random, &self.masks)),
        }
    }

    fn statement(&mut self) {
        let (i32, i1) = (self.ty("i32"), self.ty("i1"));
        match self.random.below(15) {
            12 => {
                let (i64, block) = (self.ty("i64"), self.block());
                let wide = self.line(&format!("cast {block} : {i64}"));
                self.wide.push(wide);
                let (a, b) = (Self::pick(self.random, &self.wide), Self::pick(self.random, &self.wide));
                let op = ["add", "mul", "max"][self.random.below(3) as usize];
                let result = self.line(&format!("{op} {a}, {b} : {i64}"));
                self.wide.push(result.clone());
                let back = self.line(&format!("cast {result} : {i32}"));
                self.blocks.push(back);
            }
            13 => {
                let (i8, block) = (self.ty("i8"), self.block());
                let narrow = self.line(&format!("cast {block} : {i8}"));
                self.narrow.push(narrow);
                let (a, b) = (Self::pick(self.random, &self.narrow), Self::pick(self.random, &self.narrow));
                let result = self.line(&format!("sub {a}, {b} : {i8}"));
                self.narrow.push(result.clone());
                let back = self.line(&format!("cast {result} : {i32}"));
                self.blocks.push(back);
            }
            14 => {
                let value = self.block();
                let wide = self.line(&format!("cast {value} : {}", self.ty("i64")));
                let n = self.names;
                let folded = self.line(&format!(
                    "reduce {wide} axis 0 (%x{n}, %y{n}) {{
    %z{n} = add %x{n}, %y{n} : i64
    yield %z{n}
  }} : i64"
                ));
                let scalar = self.line(&format!("cast {folded} : i32"));
                self.scalars.push(scalar);
            }
            0 | 1 => {
                let pointers = self.pointers();
                let mask = self.mask();
                let other = match self.random.below(2) {
                    0 if !mask.is_empty() => {
                        let scalar = Self::pick(self.random, &self.scalars);
                        format!(" other {}", self.splat(&scalar))
                    }
                    _ => String::new(),
                };
                let loaded = self.line(&format!("load {pointers}{mask}{other} : {i32}"));
                self.blocks.push(loaded);
            }
            2 | 3 => {
                let pointers = self.pointers();
                let (mask, value) = (self.mask(), self.computed());
                self.text += &format!("  store {pointers}, {value}{mask}\n");
            }
            4 => {
                let (value, op) = (self.block(), ["add", "max", "xor"][self.random.below(3) as usize]);
                let n = self.names;
                let folded = self.line(&format!(
                    "reduce {value} axis 0 (%x{n}, %y{n}) {{
    %z{n} = {op} %x{n}, %y{n} : i32
    yield %z{n}
  }} : i32"
                ));
                self.scalars.push(folded);
            }
            5 => {
                let predicate = ["lt", "le", "gt", "ge", "eq", "ne"][self.random.below(6) as usize];
                let offset = Self::pick(self.random, &self.offsets);
                let limit = self.splat(&offset);
                let value = if self.random.below(3) == 0 { self.block() } else { "%range".to_owned() };
                let (a, b) = if self.random.below(2) == 0 { (value, limit) } else { (limit, value) };
                let mask = self.line(&format!("compare {predicate} {a}, {b} : {i1}"));
                self.masks.push(mask);
            }
            6 => {
                let (a, b) = (Self::pick(self.random, &self.masks), Self::pick(self.random, &self.masks));
                let mask = self.line(&format!("and {a}, {b} : {i1}"));
                self.masks.push(mask);
            }
            7 => {
                let mask = Self::pick(self.random, &self.masks);
                let (a, b) = (self.block(), self.block());
                let chosen = self.line(&format!("select {mask}, {a}, {b} : {i32}"));
                self.blocks.push(chosen);
            }
            8 => {
                let offset = Self::pick(self.random, &self.offsets);
                let pointer = self.line(&format!("add_pointer %middle, {offset} : *i32"));
                if self.random.below(2) == 0 {
                    let loaded = self.line(&format!("load {pointer} : i32"));
                    self.scalars.push(loaded.clone());
                    let limit = self.line("constant 300 : i32");
                    let offset = self.line(&format!("rem {loaded}, {limit} : i32"));
                    self.offsets.push(offset);
                } else {
                    let scalar = Self::pick(self.random, &self.scalars);
                    self.text += &format!("  store {pointer}, {scalar}\n");
                }
            }
            9 => {
                let scalar = Self::pick(self.random, &self.scalars);
                let block = self.splat(&scalar);
                self.blocks.push(block);
            }
            _ => {
                let op = ["add", "sub", "mul", "min", "max", "and"][self.random.below(6) as usize];
                let (a, b) = (self.block(), self.block());
                let result = self.line(&format!("{op} {a}, {b} : {i32}"));
                self.blocks.push(result);
            }
        }
    }
}

/// A kernel of random statements, some of them in a loop that carries a block and a scalar.
fn random_kernel(random: &mut Random, count: usize) -> String {
    let ty = format!("<{count}xi32>");
    let text = format!(
        "kernel @random(%memory: *i32, %a: i32, %b: i32) {{
  %skipped = constant {MIDDLE} : i32
  %middle = add_pointer %memory, %skipped : *i32
  %range = arange 0..{count} : {ty}
  %as = splat %a : {ty}
  %zero = constant 0 : i32
  %one = constant 1 : i32
  %three = constant 3 : i32
  %far = constant 3500 : i32
  %near = constant -3500 : i32
  %first = compare lt %range, %as : <{count}xi1>
"
    );
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<String>>();
    let mut writer = Writer {
        random,
        text,
        count,
        names: 0,
        blocks: names(&["%as", "%range"]),
        wide: Vec::new(),
        narrow: Vec::new(),
        masks: names(&["%first"]),
        scalars: names(&["%a", "%b"]),
        offsets: names(&["%zero", "%b", "%a", "%far", "%near"]),
    };
    for _ in 0..8 {
        writer.statement();
    }
    let (block, scalar) = (writer.block(), Writer::pick(writer.random, &writer.scalars));
    writer.text += &format!(
        "  %block, %scalar = for %i = %zero to %three step %one carry (%p = {block}, %q = {scalar}) {{\n"
    );
    let outside =
        (writer.blocks.clone(), writer.masks.clone(), writer.scalars.clone(), writer.offsets.clone());
    let outside_of_others = (writer.wide.clone(), writer.narrow.clone());
    writer.blocks.push("%p".to_owned());
    writer.scalars.extend(names(&["%q", "%i"]));
    writer.offsets.push("%i".to_owned());
    for _ in 0..10 {
        writer.statement();
    }
    let (block, scalar) = (writer.block(), Writer::pick(writer.random, &writer.scalars));
    writer.text += &format!("    yield {block}, {scalar}\n  }} : {ty}, i32\n");
    (writer.blocks, writer.masks, writer.scalars, writer.offsets) = outside;
    (writer.wide, writer.narrow) = outside_of_others;
    writer.blocks.push("%block".to_owned());
    writer.scalars.push("%scalar".to_owned());
    for _ in 0..6 {
        writer.statement();
    }
    let pointers = writer.pointers();
    writer.text += &format!("  store {pointers}, %block\n  store %memory, %scalar\n}}\n");
    writer.text
}

/// Accesses that are checked are executed one by one, so that the two ways can be compared.
#[test]
fn planned_code_does_what_its_instructions_do() {
    for seed in 0..2500 {
        let mut random = Random(77_000 + seed);
        let count = [2, 7, 64, 300, 512, 1024, 1500, 2300][random.below(8) as usize];
        let text = random_kernel(&mut random, count);
        let program = program(&text);
        let memory: Vec<i32> = (0..MEMORY).map(|_| random.below(2000) as i32 - 1000).collect();
        let scalars = [0; 2].map(|_| (random.below(601) as i64 - 300) as u64);
        let mut planned = memory.clone();
        run(&program, [1, 1, 1], &[address(&mut planned), scalars[0], scalars[1]]);
        let mut single = memory;
        let arguments = [address(&mut single), scalars[0], scalars[1]];
        run_checked(&program, [1, 1, 1], &arguments, &[("memory", arguments[0], 4 * MEMORY)])
            .expect("all accesses are within the memory");
        assert_eq!(planned, single, "seed {seed}\n{text}");
    }
}

/// The same where so many programs write so much that it goes past the caches; one thread runs them in order.
#[test]
fn planned_code_that_writes_much_does_what_its_instructions_do() {
    const PROGRAMS: u32 = 12_000;
    for seed in 0..8 {
        let mut random = Random(99_000 + seed);
        let text = random_kernel(&mut random, [1000, 1500][seed as usize % 2]);
        let program = program(&text);
        let memory: Vec<i32> = (0..MEMORY).map(|_| random.below(2000) as i32 - 1000).collect();
        let outcome = |checked: bool| {
            let mut memory = memory.clone();
            let address = address(&mut memory);
            let all = ArrayRange {
                name: "memory".into(),
                address: address as usize,
                bytes: 4 * MEMORY,
                writable: true,
            };
            let bounds = checked.then(|| vec![all]);
            let options = LaunchOptions { threads: Some(1), bounds, ..LaunchOptions::default() };
            // SAFETY: all accesses are within the memory.
            unsafe { program.launch([PROGRAMS, 1, 1], &[address, 7, 11], &options) }
                .expect("the launch succeeds");
            memory
        };
        assert_eq!(outcome(false), outcome(true), "seed {seed}\n{text}");
    }
}

/// What is stored may also be computed with, before and after, where the results go to the same places.
#[test]
fn arrays_are_updated_in_place() {
    let program = program(
        "kernel @momentum(%p: *fp32, %g: *fp32, %m: *fp32, %n: i32) {
  %pid = program_id 0 : i32
  %block = constant 128 : i32
  %start = mul %pid, %block : i32
  %range = arange 0..128 : <128xi32>
  %starts = splat %start : <128xi32>
  %offsets = add %starts, %range : <128xi32>
  %ns = splat %n : <128xi32>
  %mask = compare lt %offsets, %ns : <128xi1>
  %gs = splat %g : <128x*fp32>
  %gp = add_pointer %gs, %offsets : <128x*fp32>
  %grad = load %gp mask %mask : <128xfp32>
  %ms = splat %m : <128x*fp32>
  %mp = add_pointer %ms, %offsets : <128x*fp32>
  %before = load %mp mask %mask : <128xfp32>
  %moment = add %before, %grad : <128xfp32>
  %ps = splat %p : <128x*fp32>
  %pp = add_pointer %ps, %offsets : <128x*fp32>
  %old = load %pp mask %mask : <128xfp32>
  %new = sub %old, %moment : <128xfp32>
  store %mp, %moment mask %mask
  store %pp, %new mask %mask
}",
    );
    let n = 517;
    let mut random = Random(5);
    let (mut p, mut g, mut m) = (random.floats(n), random.floats(n), random.floats(n));
    let expected_m: Vec<f32> = m.iter().zip(&g).map(|(m, g)| m + g).collect();
    let expected_p: Vec<f32> = p.iter().zip(&expected_m).map(|(p, m)| p - m).collect();
    let arguments = [address(&mut p), address(&mut g), address(&mut m), n as u64];
    run(&program, [(n as u32).div_ceil(128), 1, 1], &arguments);
    assert_eq!((p, m), (expected_p, expected_m));
}

/// Exponentials of differences, which a plan computes at once, have the bits of the two operations.
#[test]
fn softmax_has_the_same_bits_either_way() {
    let rows = program(include_str!("../../benches/kernels/softmax_rows.ir"));
    let online = program(include_str!("../../benches/kernels/softmax_online.ir"));
    let mut random = Random(3);
    for columns in [1usize, 63, 1000, 1024] {
        for (program, length) in [(&rows, columns), (&online, columns), (&online, 10 * columns + 3)] {
            let mut x: Vec<f32> = random.floats(3 * length).iter().map(|x| 300.0 * x).collect();
            x[0] = f32::NEG_INFINITY;
            let outcome = |checked: bool| {
                let (mut x, mut out) = (x.clone(), vec![f32::NAN; 3 * length]);
                let (from, to) = (address(&mut x), address(&mut out));
                let arguments = [from, to, length as u64, length as u64, length as u64];
                let arrays = [("const x", from, 12 * length), ("out", to, 12 * length)];
                if checked {
                    run_checked(program, [3, 1, 1], &arguments, &arrays).expect("all accesses are masked");
                } else {
                    run(program, [3, 1, 1], &arguments);
                }
                out.iter().map(|value| value.to_bits()).collect::<Vec<u32>>()
            };
            let planned = outcome(false);
            assert_eq!(planned, outcome(true), "{length}");
            if length > 1 {
                let sum: f64 =
                    planned[length..2 * length].iter().map(|&bits| f64::from(f32::from_bits(bits))).sum();
                assert!((sum - 1.0).abs() < 1e-5, "{length}: {sum}");
            }
        }
    }
}

/// Offsets that wrap are not the linear function that a plan takes them for.
#[test]
fn offsets_that_wrap_are_computed_one_by_one() {
    let program = program(
        "kernel @wrap(%out: *i32, %start: i32, %limit: i32) {
  %range = arange 0..64 : <64xi32>
  %starts = splat %start : <64xi32>
  %offsets = add %starts, %range : <64xi32>
  %limits = splat %limit : <64xi32>
  %mask = compare lt %offsets, %limits : <64xi1>
  %outs = splat %out : <64x*i32>
  %pointers = add_pointer %outs, %range : <64x*i32>
  store %pointers, %offsets mask %mask
}",
    );
    for start in [0, i32::MAX - 63, i32::MAX - 62, i32::MAX - 3, i32::MIN, -40] {
        for limit in [i32::MIN, -10, 5, 64, i32::MAX] {
            let mut out = [7; 64];
            run(&program, [1, 1, 1], &[address(&mut out), start as i64 as u64, limit as i64 as u64]);
            let expected: Vec<i32> = (0..64)
                .map(|i| i32::wrapping_add(start, i))
                .map(|offset| if offset < limit { offset } else { 7 })
                .collect();
            assert_eq!(out[..], expected, "start {start}, limit {limit}");
        }
    }
}

/// More output than any cache holds is written past the caches, on several threads, and is all there when the launch is over.
#[test]
fn large_outputs_are_complete() {
    let program = program(
        "kernel @double(%x: *fp32, %out: *fp32, %n: i32) {
  %pid = program_id 0 : i32
  %block = constant 3000 : i32
  %start = mul %pid, %block : i32
  %range = arange 0..3000 : <3000xi32>
  %starts = splat %start : <3000xi32>
  %offsets = add %starts, %range : <3000xi32>
  %ns = splat %n : <3000xi32>
  %mask = compare lt %offsets, %ns : <3000xi1>
  %xs = splat %x : <3000x*fp32>
  %xp = add_pointer %xs, %offsets : <3000x*fp32>
  %v = load %xp mask %mask : <3000xfp32>
  %w = add %v, %v : <3000xfp32>
  %outs = splat %out : <3000x*fp32>
  %op = add_pointer %outs, %offsets : <3000x*fp32>
  store %op, %w mask %mask
}",
    );
    const COUNT: usize = (80 << 20) / 4 + 13;
    let mut x: Vec<f32> = (0..COUNT).map(|i| (i % 1001) as f32).collect();
    let mut out = vec![f32::NAN; COUNT + 64];
    let grid = [(COUNT as u32).div_ceil(3000), 1, 1];
    let arguments = [address(&mut x), address(&mut out[1..]), COUNT as u64];
    let options = LaunchOptions { threads: Some(3), ..LaunchOptions::default() };
    // SAFETY: all accesses are masked.
    unsafe { program.launch(grid, &arguments, &options) }.expect("the launch succeeds");
    assert!(out[0].is_nan() && out[COUNT + 1..].iter().all(|value| value.is_nan()));
    for (i, value) in out[1..=COUNT].iter().enumerate() {
        assert_eq!(*value, 2.0 * (i % 1001) as f32, "element {i}");
    }
}
