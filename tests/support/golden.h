// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ncclprobe::support {

// Checks that `text` equals tests/golden/<name> byte for byte, and names the first line that
// differs. With NCCLPROBE_ACCEPT_GOLDEN=1 in the environment it writes the file instead: check the
// difference in version control before you commit it.
void check_golden(const std::string& name, const std::string& text);
// The same for a document that a test keeps up to date; `path` within the source tree.
void check_document(const std::string& path, const std::string& text);

} // namespace ncclprobe::support
