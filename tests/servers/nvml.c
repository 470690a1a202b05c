/* NVIDIA's driver library as far as Forge asks it: two GPUs and one that shares the machine's memory. With
 * FORGE_TEST_NVML=broken there is a driver that does not answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, DRIVER_NOT_LOADED = 9 };

typedef struct {
    unsigned long long total, free, used;
} memory_t;

int nvmlInitWithFlags(unsigned flags) {
    const char *state = getenv("FORGE_TEST_NVML");
    (void)flags;
    return state != NULL && strcmp(state, "broken") == 0 ? DRIVER_NOT_LOADED : SUCCESS;
}

int nvmlShutdown(void) { return SUCCESS; }

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = 3;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = (void *)(size_t)(index + 1);
    return SUCCESS;
}

int nvmlDeviceGetName(void *device, char *name, unsigned length) {
    snprintf(name, length, "GPU %d", (int)(size_t)device - 1);
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void *device, memory_t *memory) {
    unsigned long long index = (size_t)device - 1;
    if (index == 2) {
        return NOT_SUPPORTED;
    }
    memory->total = 24ULL << 30;
    memory->free = (20ULL + index) << 30;
    memory->used = memory->total - memory->free;
    return SUCCESS;
}

const char *nvmlErrorString(int result) {
    (void)result;
    return "the driver is not loaded";
}
