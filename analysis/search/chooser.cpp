// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/chooser.h"

#include "analysis/search/coordinate_descent.h"
#include "analysis/search/model_search.h"

namespace ncclprobe::analysis::search {

std::unique_ptr<Chooser> make_chooser(Strategy strategy, const Space& space) {
  if (strategy == Strategy::descent)
    return std::make_unique<CoordinateDescent>(space);
  return std::make_unique<ModelSearch>(space);
}

} // namespace ncclprobe::analysis::search
