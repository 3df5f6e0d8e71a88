"""FPGA flow: synthesis, place and route, reports and estimates."""
