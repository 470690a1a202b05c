"""Writes calls in every notation, the way models do, for round trips and mutations."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Call = tuple[str, dict[str, Any]]


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def obj(call: Call, name: str = "name", args: str = "arguments") -> str:
    return dumps({name: call[0], args: call[1]})


def python_value(value: Any) -> str:
    return repr(value)


def source(call: Call) -> str:
    return f"{call[0]}({', '.join(f'{k}={python_value(v)}' for k, v in call[1].items())})"


def plain(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def qwen(call: Call) -> str:
    body = "".join(f"<parameter={k}>\n{plain(v)}\n</parameter>\n" for k, v in call[1].items())
    return f"<function={call[0]}>\n{body}</function>"


def invoke(call: Call, prefix: str = "") -> str:
    body = "".join(
        f'<{prefix}parameter name="{k}">{plain(v)}</{prefix}parameter>\n' for k, v in call[1].items()
    )
    return f'<{prefix}invoke name="{call[0]}">\n{body}</{prefix}invoke>'


def dsml(call: Call) -> str:
    body = "".join(
        f'<｜DSML｜parameter name="{k}" string="{"true" if isinstance(v, str) else "false"}">{plain(v)}</｜DSML｜parameter>\n'
        for k, v in call[1].items()
    )
    return f'<｜DSML｜invoke name="{call[0]}">\n{body}</｜DSML｜invoke>\n'


def minicpm(call: Call) -> str:
    body = "".join(f'<param name="{k}">{plain(v)}</param>' for k, v in call[1].items())
    return f'<function name="{call[0]}">{body}</function>'


def glm(call: Call) -> str:
    body = "".join(f"<arg_key>{k}</arg_key>\n<arg_value>{plain(v)}</arg_value>\n" for k, v in call[1].items())
    return f"<tool_call>{call[0]}\n{body}</tool_call>"


def glm_compact(call: Call) -> str:
    body = "".join(f"<arg_key>{k}</arg_key><arg_value>{plain(v)}</arg_value>" for k, v in call[1].items())
    return f"<tool_call>{call[0]}{body}</tool_call>"


def gemma_value(value: Any) -> str:
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{gemma_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(gemma_value, value)) + "]"
    return dumps(value)


def gemma(call: Call) -> str:
    return f"call:{call[0]}{gemma_value(call[1])}"


def function_gemma(call: Call) -> str:
    body = ",".join(f"{k}:<escape>{plain(v)}<escape>" for k, v in call[1].items())
    return f"<start_function_call>call:{call[0]}{{{body}}}<end_function_call>"


def cline(call: Call) -> str:
    body = "".join(f"<{k}>{plain(v)}</{k}>\n" for k, v in call[1].items())
    return f"<{call[0]}>\n{body}</{call[0]}>"


def kimi(call: Call, index: int) -> str:
    return f"<|tool_call_begin|>functions.{call[0]}:{index}<|tool_call_argument_begin|>{dumps(call[1])}<|tool_call_end|>"


def kimi_k3(call: Call, index: int) -> str:
    kind = {str: "string", bool: "boolean", int: "number", float: "number"}
    body = "".join(
        f'<|open|>argument key="{k}" type="{kind.get(type(v), "object")}"<|sep|>{plain(v)}<|close|>argument<|sep|>'
        for k, v in call[1].items()
    )
    return f'<|open|>call tool="{call[0]}" index="{index}"<|sep|>{body}<|close|>call<|sep|>'


def deepseek(call: Call) -> str:
    return f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{call[0]}\n```json\n{dumps(call[1])}\n```<｜tool▁call▁end｜>"


def deepseek31(call: Call) -> str:
    return f"<｜tool▁call▁begin｜>{call[0]}<｜tool▁sep｜>{dumps(call[1])}<｜tool▁call▁end｜>"


def harmony(call: Call) -> str:
    return (
        f"<|channel|>commentary to=functions.{call[0]} <|constrain|>json<|message|>{dumps(call[1])}<|call|>"
    )


def continue_block(call: Call) -> str:
    body = "".join(f"BEGIN_ARG: {k}\n{plain(v)}\nEND_ARG\n" for k, v in call[1].items())
    return f"```tool\nTOOL_NAME: {call[0]}\n{body}```"


def step3(call: Call) -> str:
    return f"<｜tool_call_begin｜>function<｜tool_sep｜>{invoke(call, 'steptml:')}<｜tool_call_end｜>"


def longcat_pairs(call: Call) -> str:
    body = "".join(
        f"<longcat_arg_key>{k}</longcat_arg_key>\n<longcat_arg_value>{plain(v)}</longcat_arg_value>\n"
        for k, v in call[1].items()
    )
    return f"<longcat_tool_call>{call[0]}\n{body}</longcat_tool_call>"


def k2_horizon(call: Call) -> str:
    body = "".join(
        f"<ifm|arg_key>{k}</ifm|arg_key>\n<ifm|arg_value>{plain(v)}</ifm|arg_value>\n"
        for k, v in call[1].items()
    )
    return f"<ifm|tool_call>{call[0]}\n{body}</ifm|tool_call>"


def solar(call: Call) -> str:
    body = "".join(
        f"<|tool_arg:start|>{k}<|tool_arg:value|>{plain(v)}<|tool_arg:end|>\n" for k, v in call[1].items()
    )
    return f"<|tool_call:start|>{call[0]}\n{body}<|tool_call:end|>"


def minimax_m3(call: Call) -> str:
    mark = "]<]minimax[>["
    body = "".join(f"{mark}<{k}>{plain(v)}{mark}</{k}>" for k, v in call[1].items())
    return f'{mark}<invoke name="{call[0]}">{body}{mark}</invoke>'


def plamo(call: Call) -> str:
    def pair(word: str, inner: str) -> str:
        return f"<|plamo:begin_{word}:plamo|>{inner}<|plamo:end_{word}:plamo|>"

    return pair("tool_request", pair("tool_name", call[0]) + pair("tool_arguments", dumps(call[1])))


def inkling(call: Call) -> str:
    return f"<|message_model|>{call[0]}<|content_invoke_tool_json|>{obj(call, 'name', 'args')}<|end_message|>"


def one_by_one(
    write: Callable[[Call], str], between: str = "\n", before: str = "", after: str = ""
) -> Callable[..., str]:
    def render(calls: list[Call]) -> str:
        return before + between.join(write(call) for call in calls) + after

    return render


def indexed(write: Callable[[Call, int], str], before: str = "", after: str = "") -> Callable[..., str]:
    return lambda calls: before + "".join(write(call, i) for i, call in enumerate(calls)) + after


def array(calls: list[Call], *keys: str) -> str:
    return "[" + ", ".join(obj(call, *keys) for call in calls) + "]"


JSON_NOTATIONS: dict[str, Callable[[list[Call]], str]] = {
    "json_bare": one_by_one(obj),
    "json_pretty": one_by_one(
        lambda c: json.dumps({"name": c[0], "arguments": c[1]}, indent=2, ensure_ascii=False)
    ),
    "tool_args": one_by_one(lambda c: obj(c, "tool", "args")),
    "parameters": one_by_one(lambda c: obj(c, "name", "parameters")),
    "tool_input": one_by_one(lambda c: obj(c, "tool_name", "tool_input")),
    "action": one_by_one(lambda c: obj(c, "action", "action_input")),
    "function_args": one_by_one(lambda c: obj(c, "function", "args")),
    "tool_parameters": one_by_one(lambda c: obj(c, "tool_name", "parameters")),
    "camel": one_by_one(lambda c: obj(c, "toolName", "args")),
    "tool_use": one_by_one(
        lambda c: dumps({"type": "tool_use", "id": "toolu_9", "name": c[0], "input": c[1]})
    ),
    "arguments_first": one_by_one(lambda c: dumps({"arguments": c[1], "name": c[0]})),
    "function": one_by_one(lambda c: dumps({"function": {"name": c[0], "arguments": c[1]}})),
    "openai": one_by_one(
        lambda c: dumps({"type": "function", "function": {"name": c[0], "arguments": dumps(c[1])}})
    ),
    "tool_calls": lambda calls: dumps({"tool_calls": [{"name": n, "arguments": a} for n, a in calls]}),
    "message": lambda calls: dumps(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": f"c{i}", "type": "function", "function": {"name": n, "arguments": dumps(a)}}
                for i, (n, a) in enumerate(calls)
            ],
        }
    ),
    "tool_uses": lambda calls: dumps(
        {"tool_uses": [{"recipient_name": f"functions.{n}", "parameters": a} for n, a in calls]}
    ),
    "function_call": one_by_one(lambda c: dumps({"function_call": {"name": c[0], "arguments": dumps(c[1])}})),
    "array": array,
    "commas": one_by_one(obj, ", "),
    "semicolons": one_by_one(lambda c: obj(c, "name", "parameters"), "; "),
    "single_key": one_by_one(lambda c: dumps({c[0]: c[1]})),
    "fence": one_by_one(lambda c: f"```json\n{obj(c)}\n```"),
    "fence_plain": one_by_one(lambda c: f"```\n{obj(c)}\n```"),
    "fence_list": lambda calls: f"```json\n{array(calls)}\n```",
    "fence_tool_call": one_by_one(lambda c: f"```tool_call\n{obj(c)}\n```"),
    "fence_hermes": one_by_one(lambda c: f"```xml\n<tool_call>\n{obj(c)}\n</tool_call>\n```"),
    "json_tag": one_by_one(lambda c: f"<json>{obj(c)}</json>"),
    "hermes": one_by_one(lambda c: f"<tool_call>\n{obj(c)}\n</tool_call>"),
    "hermes_glued": one_by_one(lambda c: f"<tool_call>{obj(c)}</tool_call>", ""),
    "hermes_block": lambda calls: "<tool_call>\n" + "\n".join(map(obj, calls)) + "\n</tool_call>",
    "function_call_tag": one_by_one(lambda c: f"<function_call> {obj(c)} </function_call>"),
    "tools_tag": one_by_one(lambda c: f"<tools>\n{obj(c)}\n</tools>"),
    "named_tag": one_by_one(lambda c: f'<tool_call name="{c[0]}">{dumps(c[1])}</tool_call>'),
    "named_tool": one_by_one(lambda c: f'<tool name="{c[0]}">{dumps(c[1])}</tool>'),
    "python_tag": one_by_one(lambda c: obj(c, "name", "parameters"), "; ", "<|python_tag|>", "<|eom_id|>"),
    "function_tag": one_by_one(lambda c: f"<function={c[0]}>{dumps(c[1])}</function>"),
    "mistral_list": lambda calls: f"[TOOL_CALLS] {array(calls)}",
    "mistral_args": one_by_one(lambda c: f"[TOOL_CALLS]{c[0]}[ARGS]{dumps(c[1])}", ""),
    "mistral_id": one_by_one(lambda c: f"[TOOL_CALLS]{c[0]}[CALL_ID]a1B2c3D4e[ARGS]{dumps(c[1])}", ""),
    "mistral_lost": one_by_one(lambda c: f"[TOOL_CALLS]{c[0]}{dumps(c[1])}", ""),
    "args_only": one_by_one(lambda c: f"{c[0]}[ARGS]{dumps(c[1])}"),
    "deepseek": one_by_one(deepseek, "\n", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
    "deepseek31": one_by_one(deepseek31, "", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
    "dsml_json": one_by_one(
        lambda c: f'<｜DSML｜invoke name="{c[0]}">\n{dumps(c[1])}\n</｜DSML｜invoke>\n',
        "",
        "<｜DSML｜function_calls>\n",
        "</｜DSML｜function_calls>",
    ),
    "kimi": indexed(kimi, "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    "kimi_no_section": indexed(kimi),
    "harmony": one_by_one(harmony, "<|start|>assistant"),
    "minimax_m1": lambda calls: "<tool_calls>\n" + "\n".join(map(obj, calls)) + "\n</tool_calls>",
    "hunyuan": lambda calls: f"<tool_calls>{array(calls)}</tool_calls>",
    "toolcall": lambda calls: f"<TOOLCALL>{array(calls)}</TOOLCALL>",
    "functools": lambda calls: f"functools{array(calls)}",
    "apertus": lambda calls: f"<|tools_prefix|>{dumps([{n: a} for n, a in calls])}<|tools_suffix|>",
    "granite": lambda calls: f"<|tool_call|> {array(calls)}",
    "granite20": one_by_one(lambda c: f"<function_call> {obj(c)}", " "),
    "internlm": one_by_one(
        lambda c: f"<|action_start|> <|plugin|>\n{obj(c, 'name', 'parameters')}<|action_end|>"
    ),
    "cohere": lambda calls: (
        "<|START_ACTION|>"
        + dumps([{"tool_call_id": str(i), "tool_name": n, "parameters": a} for i, (n, a) in enumerate(calls)])
        + "<|END_ACTION|>"
    ),
    "gigachat": one_by_one(lambda c: f"<|function_call|>{obj(c)}"),
    "longcat": one_by_one(lambda c: f"<longcat_tool_call>\n{obj(c)}\n</longcat_tool_call>"),
    "lm_studio": one_by_one(lambda c: f"[TOOL_REQUEST]{obj(c)}[END_TOOL_REQUEST]"),
    "lfm2_json": lambda calls: f"<|tool_call_start|>{array(calls)}<|tool_call_end|>",
    "tool_use_tag": one_by_one(
        lambda c: f"<tool_use>\n<name>{c[0]}</name>\n<arguments>{dumps(c[1])}</arguments>\n</tool_use>"
    ),
    "name_element": one_by_one(
        lambda c: f"<tool_call>\n<function>{c[0]}</function>\n{dumps(c[1])}\n</tool_call>"
    ),
    "hermes_glued_name": one_by_one(lambda c: f"<tool_call>{c[0]}{dumps(c[1])}</tool_call>"),
    "hermes_source": one_by_one(lambda c: f"<tool_call>{c[0]}({dumps(c[1])})</tool_call>"),
    "react": lambda calls: f"Thought: go on\nAction: {calls[0][0]}\nAction Input: {dumps(calls[0][1])}",
    "react_fence": lambda calls: f"Action: {calls[0][0]}\nAction Input:\n```json\n{dumps(calls[0][1])}\n```",
    "glm4": lambda calls: f"{calls[0][0]}\n{dumps(calls[0][1])}",
    "glued": lambda calls: f"{calls[0][0]}{dumps(calls[0][1])}",
    "plamo": one_by_one(
        plamo, "", "<|plamo:begin_tool_requests:plamo|>", "<|plamo:end_tool_requests:plamo|>"
    ),
    "inkling": one_by_one(inkling, ""),
    "pangu": lambda calls: f"[unused11]{array(calls)}[unused12]",
    "hyperclova": lambda calls: f" -> tool/function_call\n{array(calls)}<|im_end|>",
    "rwkv": one_by_one(lambda c: f"**Tool Call:**\n```json\n{obj(c)}\n```"),
    "functionary": one_by_one(lambda c: f">>>{c[0]}\n{dumps(c[1])}"),
}
"""Notations whose arguments are JSON: any arguments come back exactly."""

SOURCE_NOTATIONS: dict[str, Callable[[list[Call]], str]] = {
    "pythonic": lambda calls: f"[{', '.join(map(source, calls))}]",
    "llama4": lambda calls: f"<|python_start|>[{', '.join(map(source, calls))}]<|python_end|>",
    "lfm2": lambda calls: f"<|tool_call_start|>[{', '.join(map(source, calls))}]<|tool_call_end|>",
    "olmo": lambda calls: f"<function_calls>{chr(10).join(map(source, calls))}</function_calls>",
    "source": one_by_one(lambda c: source(c) + ";"),
    "built_in": lambda calls: f"<|python_tag|>{calls[0][0]}.call{source(calls[0])[len(calls[0][0]) :]}",
    "tool_code": one_by_one(lambda c: f"```tool_code\nprint(default_api.{source(c)})\n```"),
    "python_fence": lambda calls: f"```python\n[{', '.join(map(source, calls))}]\n```",
}
"""Notations that are source text: keys must be identifiers."""

TEXT_NOTATIONS: dict[str, Callable[[list[Call]], str]] = {
    "qwen3": one_by_one(lambda c: f"<tool_call>\n{qwen(c)}\n</tool_call>"),
    "qwen3_no_wrapper": one_by_one(qwen),
    "qwen3_no_opener": one_by_one(lambda c: f"{qwen(c)}\n</tool_call>"),
    "seed": one_by_one(lambda c: f"<seed:tool_call>\n{qwen(c)}\n</seed:tool_call>"),
    "fence_qwen3": one_by_one(lambda c: f"```xml\n<tool_call>\n{qwen(c)}\n</tool_call>\n```"),
    "minicpm": one_by_one(minicpm),
    "invoke": one_by_one(invoke, "\n", "<function_calls>\n", "\n</function_calls>"),
    "invoke_bare": one_by_one(invoke),
    "minimax_m2": one_by_one(invoke, "\n", "<minimax:tool_call>\n", "\n</minimax:tool_call>"),
    "dsml": one_by_one(dsml, "", "<｜DSML｜function_calls>\n", "</｜DSML｜function_calls>"),
    "dsml_v4": one_by_one(dsml, "", "<｜DSML｜tool_calls>\n", "</｜DSML｜tool_calls>"),
    "dsml_no_start": one_by_one(dsml, "", "", "</｜DSML｜tool_calls>"),
    "step3": one_by_one(step3, "\n", "<｜tool_calls_begin｜>\n", "\n<｜tool_calls_end｜>"),
    "gcml": lambda calls: "".join(
        ["<｜DSML｜tool_calls>\n", *map(dsml, calls), "</｜DSML｜tool_calls>"]
    ).replace("DSML", "GCML"),
    "muse": one_by_one(
        lambda c: invoke(c, "atem:"), "\n", "<atem:function_calls>\n", "\n</atem:function_calls>"
    ),
    "k2_horizon": one_by_one(k2_horizon, "\n", "<ifm|tool_calls>\n", "\n</ifm|tool_calls>"),
    "solar": one_by_one(solar),
    "minimax_m3": one_by_one(minimax_m3, "\n", "]<]minimax[>[<tool_call>\n", "\n]<]minimax[>[</tool_call>"),
    "glm": one_by_one(glm),
    "glm_compact": one_by_one(glm_compact, ""),
    "longcat_pairs": one_by_one(longcat_pairs),
    "gemma4": one_by_one(lambda c: f"<|tool_call>{gemma(c)}<tool_call|>", ""),
    "gemma_bare": one_by_one(gemma),
    "function_gemma": one_by_one(function_gemma, ""),
    "kimi_k3": indexed(kimi_k3, "<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),
    "cline": one_by_one(cline),
    "continue": one_by_one(continue_block),
}
"""Notations whose values are plain text, typed by the tool's schema."""

NOTATIONS = {**JSON_NOTATIONS, **SOURCE_NOTATIONS, **TEXT_NOTATIONS}


def spec(name: str, properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required or list(properties)[:1]}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}


_S = {"type": "string"}
_I = {"type": "integer"}
_B = {"type": "boolean"}

TOOLS = [
    spec("save_note", {"title": _S, "text": _S, "pinned": _B}, ["title", "text"]),
    spec("runShell", {"script": _S, "seconds": _I, "env": {"type": "object"}}),
    spec("book-table", {"restaurant": _S, "people": _I, "at": _S, "notes": _S}),
    spec(
        "db.find",
        {"collection": _S, "filter": {"type": "object"}, "limit": _I, "tags": {"type": "array", "items": _S}},
    ),
    spec("name_lookup", {"name": _S, "arguments": _S, "limit": {"type": "number"}}, ["name"]),
    spec("ping", {}, []),
]

STRINGS = [
    "hello", "O'Brien said \"no\"", "a, b = c", "x = {'k': [1, 2]}", "}", "{{", "]", "line one\nline two", "\ttabbed",
    "007", "true", "null", "12.50", '{"name": "ping", "arguments": {}}', "[1, 2, 3]", '```json\n{"a": 1}\n```',
    "use <b>bold</b> & co", "<tool_call>", "say </tool_call> twice </tool_call> ok", "<think>hm</think> done",
    "</function> then more", "see </parameter> in the docs", "<parameter=foo>bar</parameter> end", "[TOOL_CALLS] x",
    "C:\\new\\table", "\\d+\\s*", "日本語：「引用」，“quotes”", "emoji 🎉", "Observation: none", "Action: ping", "",
    "ends with backslash \\", "a // b /* c */", "it's", "key: value, other: 'x'", "<|im_end|> token", "[ARGS]{}",
    "for example this", "# Title\n\n- item\n- `code`", "#include <functional>", "x</arg_value> y", "&lt;b&gt;", "' or \" or `",
]  # fmt: skip


def value_for(schema: dict[str, Any], rng: random.Random) -> Any:
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "integer":
        return rng.choice([0, 3, -7, 120])
    if kind == "number":
        return rng.choice([1.5, 20, -0.25])
    if kind == "boolean":
        return rng.choice([True, False])
    if kind == "array":
        return [rng.choice(STRINGS) for _ in range(rng.randrange(3))]
    if kind == "object":
        return {
            rng.choice(["a", "b c", "name"]): rng.choice([1, True, None, *STRINGS[:20]]) for _ in range(2)
        }
    return rng.choice(STRINGS)


def random_calls(rng: random.Random, most: int = 3) -> list[Call]:
    calls: list[Call] = []
    for _ in range(rng.randint(1, most)):
        function = rng.choice(TOOLS)["function"]
        parameters = function["parameters"]
        args = {
            key: value_for(schema, rng)
            for key, schema in parameters["properties"].items()
            if key in parameters["required"] or rng.random() < 0.5
        }
        calls.append((function["name"], args))
    return calls
