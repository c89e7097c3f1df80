"""The small faults that can be put into a module: each a place in its syntax tree and what stands there instead.

Invariant: the same source gives the same mutants in the same order; texts are left as they are (messages are read by
people), and so are annotations.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Change = Callable[[ast.AST], ast.AST]

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """The node number `node` of the tree (in the order of `ast.walk`), changed in its way number `way`."""

    node: int
    way: int
    line: int
    what: str


def mutants(source: str) -> list[Mutant]:
    """All of a module's."""
    tree = ast.parse(source)
    left_out = {id(node) for part in _annotations(tree) for node in ast.walk(part)}
    return [
        Mutant(number, way, _line_of(node), what)
        for number, node in enumerate(ast.walk(tree))
        if id(node) not in left_out
        for way, (what, _) in enumerate(_ways(node))
    ]


def _line_of(node: ast.AST) -> int:
    return node.target.lineno if isinstance(node, ast.comprehension) else getattr(node, "lineno", 0)


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """The module's tree with the fault in it."""
    tree = ast.parse(source)
    wanted = next(node for number, node in enumerate(ast.walk(tree)) if number == mutant.node)
    change = _ways(wanted)[mutant.way][1]

    class Put(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return change(node) if node is wanted else self.generic_visit(node)

    found = Put().visit(tree)
    assert isinstance(found, ast.Module)
    return ast.fix_missing_locations(found)


def _annotations(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(annotation=annotation):
                yield annotation
            case ast.arg(annotation=annotation) if annotation is not None:
                yield annotation
            case ast.FunctionDef(returns=returns) | ast.AsyncFunctionDef(returns=returns):
                yield from node.decorator_list
                if returns is not None:
                    yield returns
            case ast.ClassDef():
                yield from node.decorator_list
            case _:
                pass


def _ways(node: ast.AST) -> list[tuple[str, Change]]:
    """What can be put in a node's place, each with its description."""
    match node:
        case ast.Compare(ops=[one]) if type(one) in _COMPARED:
            other = _COMPARED[type(one)]
            return [(f"{type(one).__name__} -> {other.__name__}", _with(ops=[other()]))]
        case ast.BoolOp(op=ast.And()):
            return [("and -> or", _with(op=ast.Or()))]
        case ast.BoolOp(op=ast.Or()):
            return [("or -> and", _with(op=ast.And()))]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [("not x -> x", lambda _: operand)]
        case ast.BinOp(op=operator) if type(operator) in _COMPUTED:
            changed = _COMPUTED[type(operator)]
            return [(f"{type(operator).__name__} -> {changed.__name__}", _with(op=changed()))]
        case ast.Constant(value=bool(value)):
            return [(f"{value} -> {not value}", lambda _: ast.Constant(not value))]
        case ast.Constant(value=int(number)):
            return [(f"{number} -> {number + 1}", lambda _: ast.Constant(number + 1))]
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            return [("if x -> if not x", _with(test=ast.UnaryOp(ast.Not(), test)))]
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            return [("return x -> return None", _with(value=ast.Constant(None)))]
        case ast.Expr(value=ast.Call() | ast.Await()):
            return [("statement left out", lambda _: ast.Pass())]
        case ast.Continue():
            return [("continue -> break", lambda _: ast.Break())]
        case ast.Break():
            return [("break -> continue", lambda _: ast.Continue())]
        case ast.comprehension(ifs=[_, *_]):
            return [("comprehension without its condition", _with(ifs=[]))]
        case _:
            return []


def _with(**fields: object) -> Change:
    def change(node: ast.AST) -> ast.AST:
        for name, value in fields.items():
            setattr(node, name, value)
        return node

    return change
