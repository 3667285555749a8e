"""The grammar of textual IR, and its syntax tree. Imports `errors` and lark."""
