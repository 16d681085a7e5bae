"""What others do, to compare with: joins that need order, and a simulated chain of workers. No query uses them."""
