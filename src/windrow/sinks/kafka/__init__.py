"""Topics of Kafka as places for results, late rows and rejected messages.

`rows` makes messages of rows, `sink` sends them as they come, `transactions` once their checkpoint is whole.
"""
