#pragma once

#include <cstddef>
#include <vector>

namespace tunebench::search {

/// Turns the upper triangle of a symmetric n x n matrix (row by row) into U with U'U = matrix; what
/// is below the diagonal is left alone. False when the matrix is not positive definite.
bool cholesky(std::vector<double>& matrix, std::size_t n);

/// Solves U'x = b for `columns` right sides at once, in place; b is n x columns, row by row.
void solve_lower(const std::vector<double>& factor, std::size_t n, double* b, std::size_t columns);
/// Solves Ux = b, as above.
void solve_upper(const std::vector<double>& factor, std::size_t n, double* b, std::size_t columns);

}  // namespace tunebench::search
