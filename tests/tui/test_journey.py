"""A reader finds a table, looks at it and documents a column; it is there ever after."""




async def test_typing_finds_and_enter_opens(sample, at):
    async with at(sample) as reader:
        await reader.press("slash")
        await reader.type("fct_orders")
        shown = await reader.sees("best first", "fct_orders")
        assert "⇥" in shown or "fct_orders" in shown
        await reader.press("enter", "enter")
        await reader.sees("Columns·", "owner", "documented")
