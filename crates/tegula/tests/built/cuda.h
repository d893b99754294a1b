/* As much of the CUDA driver's header as launchers use; launches are printed. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef unsigned long long CUdeviceptr;
typedef enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_NOT_FOUND = 500
} CUresult;
typedef enum {
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
} CUdevice_attribute;
typedef enum { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 } CUfunction_attribute;

static int capability;

static CUresult cuCtxGetDevice(CUdevice *device) { *device = 0; return CUDA_SUCCESS; }
static CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? capability / 10 : capability % 10;
    return CUDA_SUCCESS;
}
static CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    printf("load %s\n", (const char *)image);
    *module = (CUmodule)1;
    return CUDA_SUCCESS;
}
static CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    (void)module;
    *function = (CUfunction)2;
    return strcmp(name, "scale") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
static CUresult cuModuleUnload(CUmodule module) { (void)module; printf("unload\n"); return CUDA_SUCCESS; }
static CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned x,
                               unsigned y, unsigned z, unsigned shared, CUstream stream, void **arguments, void **extra) {
    (void)function, (void)stream, (void)extra;
    printf("launch %u %u %u threads %u %u %u shared %u arguments %llu %g %d\n", grid_x, grid_y, grid_z, x, y, z, shared,
           *(unsigned long long *)arguments[0], *(float *)arguments[1], *(int32_t *)arguments[2]);
    return CUDA_SUCCESS;
}
