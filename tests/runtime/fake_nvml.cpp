// SPDX-License-Identifier: Apache-2.0
// A library that answers like NVIDIA's for a machine with two GPUs.
#include <cstring>

namespace {

int devices[2];

}  // namespace

extern "C" {

int nvmlInit_v2() {
    return 0;
}
int nvmlShutdown() {
    return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = 2;
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** device) {
    *device = &devices[i];
    return 0;
}
int nvmlDeviceGetName(void*, char* name, unsigned length) {
    std::strncpy(name, "NVIDIA H100 80GB HBM3", length);
    return 0;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
    memory[0] = 80ULL << 30U;
    return 0;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
    *major = 9;
    *minor = 0;
    return 0;
}
// Link 3 is down, and there are no more than 18.
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* up) {
    *up = link == 3 ? 0 : 1;
    return link < 18 ? 0 : 2;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* value) {
    *value = 5;
    return 0;
}
}
