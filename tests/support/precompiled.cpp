// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Has the header of all tests compiled once (tests/CMakeLists.txt).
int main() {}
