"""What is done to the inputs of batches: a file for each word of `loading.transform:`."""
