"""Which samples an epoch visits, and when: a file for each word of `loading.order:`."""
