"""The fault campaign: rounds of work on a library while its disk, its clock and its processes fail (`make soak`)."""
