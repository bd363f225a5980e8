"""Files: on this machine or on HDFS, written whole, and the rows of tables in them."""
