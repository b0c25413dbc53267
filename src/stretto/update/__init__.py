"""Update rules: arithmetic on parameters, without a network."""
