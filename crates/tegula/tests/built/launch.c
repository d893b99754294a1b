/* Launches what `tegula build` made of a kernel. */
#include "scale.h"

int main(void) {
    int capabilities[] = {80, 86, 90, 100};
    for (int i = 0; i < 4; i++) {
        scale_kernel kernel;
        capability = capabilities[i];
        CUresult status = scale_load(&kernel);
        if (status != CUDA_SUCCESS) {
            printf("error %d\n", status);
            continue;
        }
        status = scale_launch(&kernel, NULL, 3, 2, 1, 4096, 2.5f, -7);
        if (status == CUDA_SUCCESS) status = scale_launch(&kernel, NULL, 0, 1, 1, 4096, 2.5f, -7);
        if (status == CUDA_SUCCESS) status = scale_launch(&kernel, NULL, 1, 1, 1, 4100, 2.5f, -7);
        printf("error %d\n", status);
        scale_unload(&kernel);
    }
    return 0;
}
