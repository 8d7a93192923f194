// matrix_ok of section 4.5: which orders collapse to batch, rows and columns?
#include "src/backend/matrix_groups.h"

#include <gtest/gtest.h>

#include <vector>

namespace hlokit::backend {
namespace {

using Dims = std::vector<int64_t>;

struct Case {
  const char* name;
  Dims minor_to_major, batch, rows, columns;
  bool collapses;
};

const Case kCases[] = {
    {"batch, rows, columns", {2, 1, 0}, {0}, {1}, {2}, true},
    {"batch, columns, rows", {1, 2, 0}, {0}, {1}, {2}, true},
    {"rows, batch, columns", {2, 0, 1}, {0}, {1}, {2}, true},
    {"columns, batch, rows", {1, 0, 2}, {0}, {1}, {2}, true},
    {"rows, columns, batch", {0, 2, 1}, {0}, {1}, {2}, false},
    {"columns, rows, batch", {0, 1, 2}, {0}, {1}, {2}, false},
    {"no batch", {0, 1}, {}, {0}, {1}, true},
    {"two contracted dimensions together", {2, 1, 0}, {}, {1, 2}, {0}, true},
    {"the last listed is not the fastest", {1, 2, 0}, {}, {1, 2}, {0}, false},
    {"listed the other way round", {1, 2, 0}, {}, {2, 1}, {0}, true},
    {"a group torn apart", {2, 0, 1}, {}, {1, 2}, {0}, false},
    {"only a batch", {0}, {0}, {}, {}, false},
    {"only rows", {0}, {}, {0}, {}, true},
    {"a dimension without a role", {1, 0}, {}, {0}, {}, false},
};

TEST(MatrixGroups, Table) {
  for (const Case& c : kCases) {
    EXPECT_EQ(CollapsesToMatrices(c.minor_to_major, {c.batch, c.rows, c.columns}), c.collapses)
        << c.name;
  }
}

}  // namespace
}  // namespace hlokit::backend
