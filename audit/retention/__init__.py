"""What is erased, by age or on request, and what stays provable."""
