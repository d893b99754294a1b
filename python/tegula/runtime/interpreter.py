"""Interpreted kernels: the function that is called for each program of the grid.

Operations on tiles are in the extension. Where Python's own rules differ from the language's, the function is
rewritten, statement for statement and line for line, so that debuggers find everything where it stands:

* a number that gets a name, or is returned, becomes a scalar of a type (`k = 5` is an int32);
* `and`, `or`, `not` and chained comparisons work on blocks, element by element;
* `range`, `min` and `max` know tiles.
"""

from __future__ import annotations

import ast
import builtins
import textwrap
import types
from collections.abc import Callable
from typing import Any

from .. import _native
from ..language import maximum, minimum, tensor


class ConstantArgument(int):
    """An argument of 1, which is a constant by specialisation: what works for one of 7 works for it."""

    def __getattr__(self, name: str) -> Any:
        return _native.eager_attribute(self, name)

    @property
    def value(self) -> int:
        return int(self)


def _extreme(ordinary: Callable[..., Any], elementwise: Callable[..., Any]) -> Callable[..., Any]:
    """`min` or `max`: the language's if a tile is among the arguments, as in a compiled kernel."""

    def extreme(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) < 2 or not any(isinstance(arg, tensor) for arg in args):
            return ordinary(*args, **kwargs)
        result = args[0]
        for arg in args[1:]:
            result = elementwise(result, arg)
        return result

    return extreme


#: Python's built-in names as a kernel sees them, and the functions that a rewritten kernel calls.
_BUILTINS = {
    **vars(builtins),
    "range": _native.eager_range,
    "min": _extreme(min, minimum),
    "max": _extreme(max, maximum),
    "__tegula_name__": _native.eager_name,
    "__tegula_decides__": _native.eager_decides,
    "__tegula_combine__": _native.eager_combine,
    "__tegula_not__": _native.eager_not,
    "__tegula_chain__": _native.eager_chain,
}

_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


class _Rewriter(ast.NodeTransformer):
    """Makes a kernel's statements follow the rules of the language."""

    def __init__(self) -> None:
        self.temporaries = 0

    def _call(self, name: str, at: ast.expr, *args: ast.expr) -> ast.expr:
        call = ast.Call(ast.Name(f"__tegula_{name}__", ast.Load()), list(args), [])
        return ast.fix_missing_locations(ast.copy_location(call, at))

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        node.value = self._call("name", node.value, node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None and "constexpr" not in ast.unparse(node.annotation):
            node.value = self._call("name", node.value, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        old = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = ast.copy_location(ast.BinOp(old, node.op, node.value), node)
        return ast.copy_location(ast.Assign([node.target], self._call("name", value, value)), node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None:
            node.value = self._call("name", node.value, node.value)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        operator = ast.Constant("or" if isinstance(node.op, ast.Or) else "and")
        result = node.values[0]
        for value in node.values[1:]:
            self.temporaries += 1
            name = f"__tegula_{self.temporaries}"
            kept = ast.NamedExpr(ast.Name(name, ast.Store()), result)
            again = ast.Name(name, ast.Load())
            result = ast.IfExp(
                self._call("decides", node, operator, kept),
                again,
                self._call("combine", node, operator, again, value),
            )
        return ast.fix_missing_locations(ast.copy_location(result, node))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._call("not", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) < 2 or not all(isinstance(op, _COMPARISONS) for op in node.ops):
            return node
        operators = ast.List([ast.Constant(type(op).__name__) for op in node.ops], ast.Load())
        return self._call("chain", node, operators, node.left, *node.comparators)

    def _as_it_is(self, node: ast.AST) -> ast.AST:
        # What is defined within a kernel is Python for Python's sake.
        return node

    visit_Lambda = visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _as_it_is


def interpreted(fn: types.FunctionType, text: str, first_line: int) -> types.FunctionType:
    """The function as interpreted launches call it; its definition `text` starts at `first_line` of its file."""
    dedented = textwrap.dedent(text)
    tree = ast.parse(dedented)
    ast.increment_lineno(tree, first_line - 1)
    indentation = len(text) - len(text.lstrip())
    for node in ast.walk(tree):
        if hasattr(node, "col_offset"):
            node.col_offset += indentation
            node.end_col_offset += indentation
    definition = tree.body[0]
    rewriter = _Rewriter()
    # Defaults, annotations and decorators have been evaluated.
    definition.decorator_list, definition.returns = [], None
    # Under its own name, a function that calls itself would find this one, not the kernel.
    definition.name = "__tegula_kernel__"
    definition.args.defaults, definition.args.kw_defaults = [], [None] * len(definition.args.kwonlyargs)
    for node in ast.walk(definition.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    definition.body = [rewriter.visit(statement) for statement in definition.body]
    free = fn.__code__.co_freevars
    # Names of the closure have to be free in the new code, too: they are parameters of a function around it.
    parameters = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
    around = ast.FunctionDef(fn.__name__, parameters, [definition], [])
    module = ast.Module([ast.fix_missing_locations(ast.copy_location(around, definition))], [])
    code = compile(module, fn.__code__.co_filename, "exec", dont_inherit=True)
    for _ in range(2):
        code = next(constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    code = code.replace(co_name=fn.__name__)

    cells = dict(zip(free, fn.__closure__ or (), strict=True))
    names = fn.__globals__
    missing = object()
    usual = names.get("__builtins__", missing)
    # A function takes its built-in names from its globals when it is made, and keeps them.
    names["__builtins__"] = _BUILTINS
    try:
        closure = tuple(cells[name] for name in code.co_freevars)
        copy = types.FunctionType(code, names, fn.__name__, fn.__defaults__, closure)
    finally:
        if usual is missing:
            del names["__builtins__"]
        else:
            names["__builtins__"] = usual
    copy.__kwdefaults__ = fn.__kwdefaults__
    copy.__qualname__ = fn.__qualname__
    copy.__module__ = fn.__module__
    return copy
