"""Communication layer: how seats reach each other, and who belongs to the group at this moment."""
