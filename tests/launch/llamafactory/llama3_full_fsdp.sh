# SPDX-License-Identifier: Apache-2.0
accelerate launch --config_file fsdp2_accelerate.yaml src/train.py \
    --stage sft --do_train True --finetuning_type full --template llama3 \
    --cutoff_len 4096 --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --bf16 True
