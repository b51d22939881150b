"""The website: variables and generated tables, rendering by Quarto or Pandoc, checking."""
