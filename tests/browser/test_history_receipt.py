"""The Verify button: it finds a good receipt good, and a changed row, statement or signature wrong."""

import asyncio
import json
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from tests.audit.logs import seal
from tests.browser.driving import Visit
from tests.people import Cast
from tests.stack import Stack

NOTE = 'call: save_note {"title": "Milk é 𝒳", "content": "Two litres", "tags": ["a"]}'


async def _sealed_call(stack: Stack, tenant: Cast) -> str:
    answer = await asyncio.to_thread(stack.chat, tenant.alice, NOTE)
    await seal()
    return str(answer.json()["tool_calls"][0]["id"])


async def _verified(page: Page, call: str) -> tuple[str, list[str]]:
    """The verdict, and the tone of each step."""
    await page.goto(f"/history/{call}/")
    await page.get_by_role("button", name="Verify").click()
    verdict = await page.locator(".verdict").inner_text()
    tones = await page.locator(".proof li").evaluate_all("items => items.map((item) => item.dataset.tone)")
    return verdict, tones


async def test_a_sealed_call_is_verified_here_step_by_step(visit: Visit, tenant: Cast, stack: Stack) -> None:
    call = await _sealed_call(stack, tenant)
    page = await visit("/history/", tenant.alice)
    verdict, tones = await _verified(page, call)
    assert (verdict, tones) == ("This receipt is right.", ["good"] * 5)
    await expect(page.locator(".proof")).to_contain_text("The log’s head is signed")
    await expect(page.get_by_role("button", name="Verify")).to_be_focused()
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download receipt").click()
    assert (await download.value).suggested_filename == f"receipt-{call}.json"


def _change(receipt: dict[str, Any], call: dict[str, Any], what: str) -> None:
    proof = receipt["inclusion_proof"]
    if what == "arguments":
        call["input"]["title"] = "Bread"
    elif what == "output":
        call["output"]["extra"] = 1
    elif what == "statement":
        entry = receipt["entries"][0]
        entry["statement"] = entry["statement"].replace("save_note", "list_tasks")
    elif what == "hash":
        receipt["output_hash"] = "0" * 64
    elif what == "leaf":
        proof["proofs"][1]["leaf"] = proof["proofs"][1]["leaf"].replace("settled", "decided")
    elif what == "path":
        proof["proofs"][0]["hashes"][0] = "0" * 64
    elif what == "missing":
        del proof["proofs"][1]
    elif what == "size":
        origin, size, *rest = proof["checkpoint"].split("\n")
        proof["checkpoint"] = "\n".join([origin, f"{int(size) + 0}0", *rest])
    elif what == "signature":
        at = proof["checkpoint"].rindex("\n", 0, -1) + 40
        changed = "A" if proof["checkpoint"][at] != "A" else "B"
        proof["checkpoint"] = proof["checkpoint"][:at] + changed + proof["checkpoint"][at + 1 :]


@pytest.mark.parametrize(
    ("what", "wrong"),
    [
        ("arguments", [0]), ("output", [1]), ("statement", [2]), ("hash", [1, 2]), ("leaf", [3]), ("path", [3]),
        ("missing", [3]), ("size", [3, 4]), ("signature", [4]),
    ],
)  # fmt: skip
async def test_whatever_is_changed_is_found_and_named(
    visit: Visit, tenant: Cast, stack: Stack, what: str, wrong: list[int]
) -> None:
    call = await _sealed_call(stack, tenant)
    address = f"/api/v1/tool-calls/{call}/"
    receipt = (await asyncio.to_thread(stack.get, tenant.alice, f"{address}receipt/")).json()
    whole = (await asyncio.to_thread(stack.get, tenant.alice, address)).json()
    _change(receipt, whole, what)
    page = await visit("/history/", tenant.alice)

    async def lie(route: Route) -> None:
        changed = receipt if "receipt" in route.request.url else whole
        await route.fulfill(content_type="application/json", body=json.dumps(changed))

    await page.route(f"**{address}**", lie)
    verdict, tones = await _verified(page, call)
    assert verdict == "This receipt is wrong."
    assert [at for at, tone in enumerate(tones) if tone == "bad"] == wrong
