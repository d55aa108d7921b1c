// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/hang/job.h"
#include "base/error.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace ncclprobe::cli {

// Of a job's files at least one must be readable. The troubles of the others become remarks.
class FileTroubles {
public:
  explicit FileTroubles(base::Error if_none = {}) : last_(std::move(if_none)) {}
  void add(base::Error trouble) {
    remarks_.push_back(trouble.text());
    last_ = std::move(trouble);
  }
  // `calls`: of the files that were read. Errors: the last trouble.
  template <typename Calls>
  base::Result<analysis::hang::Job> job_of(Calls& calls, bool any_read) && {
    if (!any_read)
      return base::fail(std::move(last_));
    analysis::hang::Job job = calls.take();
    std::ranges::move(remarks_, std::back_inserter(job.remarks));
    return job;
  }

private:
  base::Error last_;
  std::vector<std::string> remarks_;
};

} // namespace ncclprobe::cli
