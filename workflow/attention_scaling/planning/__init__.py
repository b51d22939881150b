"""What a study takes before it is run: jobs, samples, core- and GPU-hours, memory."""
