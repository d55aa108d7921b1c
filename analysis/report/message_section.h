// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/message_waits.h"

#include <string>

namespace ncclprobe::analysis {

// Who waits for whom in sends and receives: a section of the timeline, empty without any.
std::string render_messages(const timeline::MessageWaits& found);

} // namespace ncclprobe::analysis
