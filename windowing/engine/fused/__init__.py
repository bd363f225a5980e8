"""The fused plan: lanes without their own stage.

A packer reads its chunk as if nothing came before it (`scanner`), and a shard, which knows how far
every lane had come, settles what that means (`settler`). The rows are those of lanes and shards,
byte for byte; on Spark it is one stateful step, and only partial states are shuffled. See
`windowing/adr/0024`.
"""
