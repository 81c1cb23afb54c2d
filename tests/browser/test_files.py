"""The files beside the chat: written by a tool, uploaded by a person, compared, and never run as a page."""

from pathlib import Path

from playwright.async_api import expect

from tests.browser.axe import violations
from tests.browser.driving import PHONE, Visit, send, sticking_out
from tests.compat.test_attachments import PDF, png
from tests.people import Cast

ATTACK = b"<script>document.title = 'taken'</script>"


async def test_files_are_seen_beside_the_chat_uploaded_and_compared(visit: Visit, tenant: Cast, tmp_path: Path) -> None:
    page = await visit("/", tenant.alice)
    await page.get_by_role("button", name="Files").click()
    beside = page.get_by_role("complementary", name="Beside the chat")
    await expect(beside).to_contain_text("Files belong to a conversation")
    # An upload begins a conversation where there is none.
    await page.locator("#upload-files").set_input_files(
        [{"name": "attack.html", "mimeType": "text/html", "buffer": ATTACK}]
    )
    await expect(beside.get_by_role("link", name="attack.html", exact=True)).to_be_visible()
    await expect(page.locator("#conversations a[data-id]")).to_have_text(["attack.html"])
    # What a tool writes is there as soon as it has.
    await send(page, "Write a file notes/plan.md: # Plan\nbuy milk")
    await expect(beside.get_by_role("link", name="notes/plan.md", exact=True)).to_be_visible()
    await send(page, 'In the file notes/plan.md replace "milk" by "tea"')
    await expect(beside).to_contain_text("version 2")
    async with page.expect_download() as download:
        await beside.get_by_role("link", name="Download attack.html").click()
    saved = tmp_path / "saved"
    await (await download.value).save_as(saved)
    assert saved.read_bytes() == ATTACK
    # A refusal is said in its own words.
    await page.locator("#upload-files").set_input_files([{"name": "a\\b", "mimeType": "", "buffer": b"x"}])
    await expect(page.locator("#files-trouble")).to_contain_text("backslash")
    await beside.get_by_role("link", name="notes/plan.md", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("notes/plan.md")
    await expect(page.locator(".diff [data-line=remove]")).to_have_text("-buy milk")
    await expect(page.locator(".diff [data-line=add]")).to_have_text("+buy tea")


async def test_on_a_phone_the_files_are_a_drawer(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice, PHONE)
    await send(page, "Write a file notes/plan.md: # Plan")
    toggle = page.get_by_role("button", name="Files")
    await toggle.click()
    await expect(page.get_by_role("button", name="Upload")).to_be_focused()
    await expect(page.get_by_role("link", name="notes/plan.md", exact=True)).to_be_visible()
    assert await sticking_out(page) == []
    await page.get_by_role("button", name="Close").click()
    await expect(toggle).to_be_focused()
    await expect(page.get_by_role("button", name="Upload")).to_be_hidden()


async def test_pictures_are_attached_seen_in_the_thread_and_deleted_files_restored(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    picture = {"name": "a.png", "mimeType": "image/png", "buffer": png(120, 80)}
    document = {"name": "b.pdf", "mimeType": "application/pdf", "buffer": PDF}
    text = {"name": "c.png", "mimeType": "image/png", "buffer": b"no picture"}
    await page.locator("#attach-files").set_input_files([picture, document, text])
    chips = page.get_by_role("list", name="Attachments")
    await expect(chips.get_by_role("listitem")).to_have_text(["a.png", "b.pdf"])
    await expect(page.locator("#status")).to_contain_text("c.png is neither a picture")
    await page.get_by_role("button", name="Do not attach b.pdf").click()
    await expect(chips.get_by_role("listitem")).to_have_text(["a.png"])
    await send(page, "What is this?")
    await expect(chips).to_be_hidden()
    await expect(page.locator("li.run").last).to_contain_text("I see a PNG picture of 120 × 80 pixels.")
    # Of a file that is there, the one button is enough.
    await page.get_by_role("button", name="Files").click()
    await page.get_by_role("button", name="Attach b.pdf to the next message").click()
    await send(page, "And this?")
    await expect(page.locator("li.run").last).to_contain_text("I see a PDF b.pdf")
    await page.reload()
    taken = page.get_by_role("list", name="Attached files")
    shown = taken.first.get_by_role("img", name="a.png")
    await expect(shown).to_be_visible()
    assert await shown.evaluate("async (image) => { await image.decode(); return image.naturalWidth }") == 120
    assert await violations(page) == []
    await send(page, "Delete the file a.png")
    await page.get_by_role("button", name="Files").click()
    await page.get_by_role("link", name="1 deleted by a tool").click()
    await page.get_by_role("button", name="Restore a.png").click()
    await expect(page.get_by_role("status")).to_contain_text("a.png is back.")
    await page.locator("summary", has_text="Delete the file").click()
    await page.get_by_role("button", name="Delete it with all its versions").click()
    await expect(page.get_by_role("status")).to_contain_text("Deleted a.png with all its versions.")
    # In the thread its name is left.
    await page.goto(page.url.replace("/conversations/", "/?c=").removesuffix("/files/"))
    await expect(taken.first.get_by_role("link", name="a.png")).to_be_visible()
