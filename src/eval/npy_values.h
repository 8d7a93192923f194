// How do arrays in .npy files become inputs, and results .npy files?
#ifndef HLOKIT_SRC_EVAL_NPY_VALUES_H_
#define HLOKIT_SRC_EVAL_NPY_VALUES_H_

#include <string>
#include <vector>

#include "hlokit/eval.h"
#include "hlokit/result.h"

namespace hlokit::cli {

/// Reads "NAME=FILE.npy" into the leaf that NAME means: a parameter by name or number, with ".i"
/// per level of a tuple, or the number of a leaf after '#'. Fails with kUsage or kCannotParse.
Status ReadInput(const Module& module, const std::string& assignment, HostLeaves* leaves);

/// Writes one leaf. Types that numpy does not have are written as numpy's void type of that width.
Status WriteNpy(const std::string& path, const HostArray& array);

}  // namespace hlokit::cli

#endif  // HLOKIT_SRC_EVAL_NPY_VALUES_H_
