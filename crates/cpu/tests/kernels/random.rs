//! Random elementwise programs, against an evaluator of one element at a time.

use crate::harness::{Random, address, program, run};

/// A binary operation on int32 by its name.
fn apply(op: &str, a: i32, b: i32) -> i32 {
    match op {
        "add" => a.wrapping_add(b),
        "sub" => a.wrapping_sub(b),
        "mul" => a.wrapping_mul(b),
        "div" if b == 0 => 0,
        "div" => a.wrapping_div(b),
        "rem" if b == 0 => 0,
        "rem" => a.wrapping_rem(b),
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        "min" => a.min(b),
        "max" => a.max(b),
        _ => unreachable!("{op}"),
    }
}

fn compare(op: &str, a: i32, b: i32) -> bool {
    match op {
        "lt" => a < b,
        "le" => a <= b,
        "gt" => a > b,
        "ge" => a >= b,
        "eq" => a == b,
        _ => a != b,
    }
}

const BINARY: [&str; 10] = ["add", "sub", "mul", "div", "rem", "and", "or", "xor", "min", "max"];
const PREDICATES: [&str; 6] = ["lt", "le", "gt", "ge", "eq", "ne"];

/// A value of a random program: its text is in the program already, its elements are known.
struct Known {
    name: String,
    elements: Vec<i32>,
}

/// Blocks of every representation meet in random expressions, masked loads, and stores to the arrays they came from.
#[test]
fn random_programs_agree_with_one_element_at_a_time() {
    for seed in 0..150 {
        let mut random = Random(1000 + seed);
        let (rows, columns) = (1 + random.below(40) as usize, 1 + random.below(70) as usize);
        let count = rows * columns;
        let ty = |element: &str| format!("<{rows}x{columns}x{element}>");
        let mut memory: Vec<i32> = (0..2 * count).map(|_| random.below(200) as i32 - 100).collect();
        let mut expected = memory.clone();
        let mut text = format!(
            "kernel @random(%p: *i32, %n: i32) {{
  %r0 = arange 0..{rows} : <{rows}xi32>
  %r1 = expand_dims %r0 axis 1 : <{rows}x1xi32>
  %rows = broadcast %r1 : {i32}
  %c0 = arange 0..{columns} : <{columns}xi32>
  %c1 = expand_dims %c0 axis 0 : <1x{columns}xi32>
  %columns = broadcast %c1 : {i32}
  %width0 = constant {columns} : i32
  %width = splat %width0 : {i32}
  %ns = splat %n : {i32}
  %scaled = mul %rows, %width : {i32}
  %linear = add %scaled, %columns : {i32}
  %ps = splat %p : {pointer}
",
            i32 = ty("i32"),
            pointer = ty("*i32"),
        );
        let n = random.below(50) as i32 - 10;
        let block = |f: &dyn Fn(usize) -> i32| (0..count).map(f).collect::<Vec<i32>>();
        let mut known = vec![
            Known { name: "rows".into(), elements: block(&|i| (i / columns) as i32) },
            Known { name: "columns".into(), elements: block(&|i| (i % columns) as i32) },
            Known { name: "linear".into(), elements: block(&|i| i as i32) },
            Known { name: "width".into(), elements: block(&|_| columns as i32) },
            Known { name: "ns".into(), elements: block(&|_| n) },
        ];
        for step in 0..30 {
            let pick = |random: &mut Random, known: &Vec<Known>| {
                // Recent values more often, so that chains become long.
                let back = random.below(known.len() as u64).min(random.below(known.len() as u64));
                known.len() - 1 - back as usize
            };
            let (a, b) = (pick(&mut random, &known), pick(&mut random, &known));
            let (x, y) = (&known[a], &known[b]);
            let name = format!("v{step}");
            // Where a load or store begins, and which elements it is for.
            let start = random.below(count as u64) as usize;
            let predicate = PREDICATES[random.below(6) as usize];
            let inside: Vec<bool> =
                x.elements.iter().zip(&y.elements).map(|(&a, &b)| compare(predicate, a, b)).collect();
            let access = format!(
                "  %s{step} = constant {start} : i32
  %t{step} = splat %s{step} : {i32}
  %u{step} = add %linear, %t{step} : {i32}
  %w{step} = add_pointer %ps, %u{step} : {pointer}
  %m{step} = compare {predicate} %{x}, %{y} : {i1}
",
                i32 = ty("i32"),
                pointer = ty("*i32"),
                i1 = ty("i1"),
                x = x.name,
                y = y.name,
            );
            match random.below(8) {
                0 => {
                    text += &access;
                    let other = pick(&mut random, &known);
                    text += &format!(
                        "  %{name} = load %w{step} mask %m{step} other %{} : {}\n",
                        known[other].name,
                        ty("i32")
                    );
                    let elements =
                        block(&|i| if inside[i] { expected[start + i] } else { known[other].elements[i] });
                    known.push(Known { name, elements });
                }
                1 => {
                    text += &access;
                    text += &format!("  %{name} = load %w{step} : {}\n", ty("i32"));
                    let elements = block(&|i| expected[start + i]);
                    known.push(Known { name, elements });
                }
                2 => {
                    text += &access;
                    text += &format!("  store %w{step}, %{} mask %m{step}\n", x.name);
                    for i in (0..count).filter(|&i| inside[i]) {
                        expected[start + i] = x.elements[i];
                    }
                }
                3 => {
                    text += &access;
                    text += &format!("  store %w{step}, %{}\n", y.name);
                    expected[start..start + count].copy_from_slice(&y.elements);
                }
                4 => {
                    text += &access;
                    text +=
                        &format!("  %{name} = select %m{step}, %{}, %{} : {}\n", x.name, y.name, ty("i32"));
                    let elements = block(&|i| if inside[i] { x.elements[i] } else { y.elements[i] });
                    known.push(Known { name, elements });
                }
                _ => {
                    let op = BINARY[random.below(BINARY.len() as u64) as usize];
                    text += &format!("  %{name} = {op} %{}, %{} : {}\n", x.name, y.name, ty("i32"));
                    let elements = block(&|i| apply(op, x.elements[i], y.elements[i]));
                    known.push(Known { name, elements });
                }
            }
        }
        text += "}";
        run(&program(&text), [1, 1, 1], &[address(&mut memory), n as i64 as u64]);
        assert_eq!(memory, expected, "seed {seed}\n{text}");
    }
}
