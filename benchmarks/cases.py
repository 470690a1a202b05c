"""Tool-calling requests: twenty tools, two requests for each, every request answerable by exactly one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

OFFERED = 3  # tools offered with each request: the right one and its neighbours in the table


@dataclass(frozen=True)
class Case:
    """One request: what the user says, the tools on offer (OpenAI shape), and the name of the right one."""

    name: str
    prompt: str
    tools: tuple[dict[str, Any], ...]
    right: str

    @property
    def schemas(self) -> dict[str, dict[str, Any]]:
        """JSON Schema of the arguments by tool name."""
        return {tool["function"]["name"]: tool["function"]["parameters"] for tool in self.tools}


def _object(required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def _number(low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high}


def _list(items: dict[str, Any], at_most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1, "maxItems": at_most}


_BOOL: dict[str, Any] = {"type": "boolean"}

# name, description, schema of the arguments, two requests
_TABLE: tuple[tuple[str, str, dict[str, Any], str, str], ...] = (
    (
        "get_weather",
        "Current weather of a city",
        _object("city", city=_text("City name"), unit=_one_of("celsius", "fahrenheit")),
        "What is the weather in Paris?",
        "How warm is it in Chicago, in fahrenheit?",
    ),
    (
        "set_timer",
        "Start a kitchen timer",
        _object("minutes", minutes=_number(1, 180), label=_text("What it is for")),
        "Set a timer for 12 minutes for the pasta.",
        "Wake me in 45 minutes.",
    ),
    (
        "send_email",
        "Send an email",
        _object("to subject body", to=_text("Address"), subject=_text("Subject"), body=_text("Text")),
        "Email ana@example.com that the meeting moved to 3 pm.",
        "Write to bob@example.com and ask him for the invoice.",
    ),
    (
        "search_files",
        "Find text in the project's files",
        _object("pattern", pattern=_text("Text to find"), case_sensitive=_BOOL, max_results=_number(1, 50)),
        "Find every TODO in the code.",
        "Search for the word Password, case-sensitive, at most 5 results.",
    ),
    (
        "read_file",
        "Read lines of a file",
        _object("path", path=_text("File path"), first_line=_number(1, 100000), last_line=_number(1, 100000)),
        "Show me README.md.",
        "Read lines 10 to 20 of src/main.py.",
    ),
    (
        "book_table",
        "Reserve a restaurant table",
        _object(
            "restaurant people time", restaurant=_text("Name"), people=_number(1, 20), time=_text("Such as 19:30")
        ),
        "Book a table for 4 at Luigi's at 19:30.",
        "Reserve for two people at Blue Door, eight in the evening.",
    ),
    (
        "convert_currency",
        "Convert an amount of money",
        _object(
            "amount source target",
            amount={"type": "number", "minimum": 0},
            source=_one_of("EUR", "USD", "GBP", "JPY"),
            target=_one_of("EUR", "USD", "GBP", "JPY"),
        ),
        "How many euros are 250 US dollars?",
        "Convert 99.5 pounds to yen.",
    ),
    (
        "set_light",
        "Switch or dim a lamp",
        _object("room on", room=_one_of("kitchen", "bedroom", "office", "hall"), on=_BOOL, brightness=_number(0, 100)),
        "Turn on the light in the kitchen.",
        "Dim the bedroom lamp to 30 percent.",
    ),
    (
        "create_event",
        "Put an event into the calendar",
        _object(
            "title start",
            title=_text("Title"),
            start=_object("date", date=_text("YYYY-MM-DD"), time=_text("HH:MM")),
            guests=_list(_text("Name"), 8),
        ),
        "Add lunch with Maria on 2026-05-04 at 12:30 to my calendar.",
        "Plan a review on 2026-06-01 with Tom and Eva.",
    ),
    (
        "translate",
        "Translate text",
        _object("text language", text=_text("Text"), language=_one_of("de", "en", "es", "fr", "it")),
        "Translate 'good morning' to French.",
        "How do you say 'thank you very much' in Italian?",
    ),
    (
        "play_music",
        "Play a song or an artist",
        _object("query", query=_text("Song or artist"), shuffle=_BOOL, volume=_number(0, 11)),
        "Play something by Miles Davis.",
        "Put on Bohemian Rhapsody, volume 8.",
    ),
    (
        "add_to_list",
        "Add items to a shopping list",
        _object("items", items=_list(_text("Item"), 10), list_name=_one_of("groceries", "hardware", "pharmacy")),
        "Put milk, eggs and bread on the shopping list.",
        "I need nails and a hammer from the hardware store.",
    ),
    (
        "get_stock_price",
        "Price of a share",
        _object("symbol", symbol={"type": "string", "minLength": 1, "maxLength": 5}, days=_number(1, 365)),
        "What is the price of AAPL?",
        "Show me the last 30 days of MSFT.",
    ),
    (
        "run_tests",
        "Run the test suite",
        _object("suite", suite=_one_of("unit", "integration", "all"), fail_fast=_BOOL),
        "Run the unit tests.",
        "Run all tests and stop at the first failure.",
    ),
    (
        "create_ticket",
        "Open a ticket in the tracker",
        _object(
            "title priority",
            title=_text("One line"),
            priority=_one_of("low", "normal", "high"),
            labels=_list(_one_of("bug", "feature", "docs"), 3),
        ),
        "Open a high priority bug: login fails on mobile.",
        "Make a ticket to improve the docs of the API.",
    ),
    (
        "find_route",
        "Directions between two places",
        _object("origin destination", origin=_text("From"), destination=_text("To"), mode=_one_of("car", "bike", "walk")),
        "How do I get from Berlin to Potsdam by bike?",
        "Drive from the airport to Main Street 5.",
    ),
    (
        "resize_image",
        "Resize a picture",
        _object("path size", path=_text("File"), size=_object("width", width=_number(1, 8000), height=_number(1, 8000))),
        "Resize photo.jpg to 800 by 600.",
        "Make logo.png 64 pixels wide.",
    ),
    (
        "log_meal",
        "Record a meal",
        _object("meal calories", meal=_one_of("breakfast", "lunch", "dinner"), calories=_number(0, 5000)),
        "I had a 450 calorie breakfast.",
        "Log dinner with 800 calories.",
    ),
    (
        "filter_products",
        "Search the shop",
        _object(
            "category",
            category=_one_of("books", "shoes", "phones"),
            price=_object("", low={"type": "number"}, high={"type": "number"}),
            in_stock=_BOOL,
        ),
        "Show me phones under 300 dollars.",
        "Which shoes between 50 and 80 are in stock?",
    ),
    (
        "query_database",
        "Read rows of a table",
        _object(
            "table columns",
            table=_one_of("users", "orders", "invoices"),
            columns=_list(_text("Column"), 5),
            limit=_number(1, 100),
        ),
        "Get name and email of the first 10 users.",
        "List the ids and totals of 5 orders.",
    ),
)  # fmt: skip


def _tool(index: int) -> dict[str, Any]:
    name, description, schema, _, _ = _TABLE[index % len(_TABLE)]
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def _case(index: int, number: int) -> Case:
    name = _TABLE[index][0]
    offered = [_tool(index + offset) for offset in range(OFFERED)]
    # The right tool is not always first: which place it has goes round with the table.
    turn = index % OFFERED
    return Case(
        name=f"{name}-{number + 1}",
        prompt=str(_TABLE[index][3 + number]),
        tools=tuple(offered[turn:] + offered[:turn]),
        right=name,
    )


CASES: tuple[Case, ...] = tuple(_case(index, number) for index in range(len(_TABLE)) for number in (0, 1))
"""All forty."""

DEMO_CASES: tuple[Case, ...] = CASES[::4]
"""Ten of them, over ten different tools."""
