"""The tools that read and write the files of a conversation, one file each."""
