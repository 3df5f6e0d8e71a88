"""What programs do with numbers: golden runs, traces, gradients, explanations."""
