// SPDX-License-Identifier: Apache-2.0
// Members made of a few lines of shell: quick to start, and they do just what a test wants.
#pragma once

#include <string>
#include <vector>

namespace orrery {

// Tells that it is ready, then does `on_go` with every order to train and `on_check` with every one
// to test itself; $generation, $rank, $node and tell KIND STEP NUMBER TEXT are at hand.
inline std::vector<std::string> shell_member(const std::string& on_go,
                                             const std::string& on_check = "tell checked;") {
    const std::string begin = R"sh(
in=${ORRERY_MEMBER%,*}; out=${ORRERY_MEMBER#*,}; node=$ORRERY_NODE; generation=0
tell() { printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$generation" "${2:-0}" "${3:-0}" "${4:-}" >&$out; }
tell ready
while IFS=$'\t' read -r order generation rank rest <&$in; do
    if [ "$order" = quit ]; then exit 0; fi
    if [ "$order" = go ]; then
)sh";
    const std::string between = R"sh(
        tell ready
    fi
    if [ "$order" = check ]; then
)sh";
    const std::string end = R"sh(
        tell ready
    fi
done
)sh";
    return {"bash", "-c", begin + on_go + between + on_check + end};
}

}  // namespace orrery
