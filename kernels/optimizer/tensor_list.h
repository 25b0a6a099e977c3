// SPDX-License-Identifier: Apache-2.0
// Many tensors in one launch: a list that fits into the arguments of a kernel, and the assignment
// of blocks to chunks of tensors.
#pragma once

#include <vector>

#include "kernels/cuda/flat.h"

namespace orrery::device {

// A kernel has at most 4 KiB of arguments, which also hold the other members.
template <class Entry>
inline constexpr int kListMax = 3968 / (sizeof(Entry) + 4) < 48
                                    ? static_cast<int>(3968 / (sizeof(Entry) + 4))
                                    : 48;
inline constexpr std::int64_t kChunk = 16384;  // elements per block

struct ListRange {
    std::int64_t first;
    std::int64_t end;
};

template <class Entry>
struct TensorList {
    Entry entry[kListMax<Entry>];             // with a member `size`
    std::int32_t end_block[kListMax<Entry>];  // of each entry, counted over the list
    int count = 0;

    std::int64_t blocks() const { return count == 0 ? 0 : end_block[count - 1]; }

    ORRERY_HOST_DEVICE int tensor_of(std::int64_t block) const {
        int tensor = 0;
        while (block >= end_block[tensor]) {
            ++tensor;
        }
        return tensor;
    }
    ORRERY_HOST_DEVICE ListRange range_of(int tensor, std::int64_t block) const {
        const std::int64_t first_block = tensor == 0 ? 0 : end_block[tensor - 1];
        const std::int64_t first = (block - first_block) * kChunk;
        const std::int64_t size = entry[tensor].size;
        return {first, first + kChunk < size ? first + kChunk : size};
    }
};

// Cuts entries into lists. An empty tensor has no blocks.
template <class Entry>
std::vector<TensorList<Entry>> lists_of(const std::vector<Entry>& entries) {
    std::vector<TensorList<Entry>> lists;
    for (const Entry& entry : entries) {
        if (lists.empty() || lists.back().count == kListMax<Entry>) {
            lists.emplace_back();
        }
        TensorList<Entry>& list = lists.back();
        const std::int64_t end = list.blocks() + (entry.size + kChunk - 1) / kChunk;
        ORRERY_CHECK(end < (std::int64_t{1} << 31));
        list.entry[list.count] = entry;
        list.end_block[list.count] = static_cast<std::int32_t>(end);
        ++list.count;
    }
    return lists;
}

// Calls work.operator()<kWidth>(i) for this thread's accesses to elements first ... end - 1.
// `first` must be a multiple of kFlatStep.
template <class Block, class Work>
ORRERY_DEVICE void for_range(Block& block, ListRange range, bool vector, const Work& work) {
    const std::int64_t whole =
        vector ? range.first + (range.end - range.first) / kFlatStep * kFlatStep : range.first;
    for (std::int64_t i = range.first + block.thread() * kFlatStep; i < whole;
         i += block.threads() * kFlatStep) {
        work.template operator()<kFlatStep>(i);
    }
    for (std::int64_t i = whole + block.thread(); i < range.end; i += block.threads()) {
        work.template operator()<1>(i);
    }
}

}  // namespace orrery::device
