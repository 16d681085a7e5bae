"""Topics of Kafka: one address and one way to make rows of messages, for this process and for Spark.

`address` is what a user wrote, `decoding` turns messages into rows and finds those that are none; neither needs a
client. `client` is the one place that names confluent-kafka, `places` are offsets, `reader` polls, `source` opens it.
"""
