"""Boolean circuits: tables over GF(2), where a sum is an exclusive or and a product is an and."""
