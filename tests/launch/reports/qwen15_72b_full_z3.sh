# SPDX-License-Identifier: Apache-2.0
# LLaMA-Factory: Qwen1.5 72B, all parameters, ZeRO 3 on 16 A800.
torchrun --nproc_per_node 8 --nnodes 2 src/train_bash.py \
    --deepspeed ds_z3.json --stage sft --do_train --finetuning_type full --template qwen \
    --cutoff_len 1024 --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --fp16
