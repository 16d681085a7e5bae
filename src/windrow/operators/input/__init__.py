"""The first operator of every stream: times as int64, punctuations from the policy, rows that are too far ahead."""
