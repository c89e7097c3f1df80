"""Command lines that take something away for good or act with other rights, and such as only look like it. `¦` parts them.

Written for these tests.
"""


def lines(text: str) -> list[str]:
    return [line for row in text.strip().split("\n") for line in row.split(" ¦ ")]


TAKING = lines(r"""
git restore --staged --worktree . ¦ git restore -SW . ¦ git restore . ¦ git restore --worktree . ¦ git checkout -- .
git checkout . ¦ git checkout -f main ¦ git switch -f main ¦ git switch --discard-changes main ¦ git reset --hard
git reset --hard HEAD~3 ¦ git reset --merge ¦ git clean -fdx ¦ git clean -f ¦ git push --force
git push -f origin main ¦ git push --force-with-lease ¦ git push origin --delete x ¦ git push origin :x
git push --mirror ¦ git push --prune origin ¦ git push -d origin x ¦ git push origin +main ¦ git branch -D x
git branch -d x ¦ git branch --delete x ¦ git branch -dr origin/x ¦ git tag -d v1 ¦ git tag --delete v1
git stash drop ¦ git stash clear ¦ git reflog expire --expire=now --all ¦ git reflog delete HEAD@{1}
git reflog drop x ¦ git gc --prune=now ¦ git gc --prune=all --aggressive ¦ git prune ¦ git remote prune origin
git filter-branch --tree-filter x HEAD ¦ git filter-repo --path a ¦ git worktree remove x
git worktree remove --force x ¦ git worktree prune ¦ git submodule deinit -f . ¦ git update-ref -d refs/heads/x
git rm a ¦ git rm -r src ¦ git notes remove ¦ git lfs prune ¦ git remote remove origin ¦ git remote rm origin
git replace -d x ¦ git bisect reset ¦ git rebase --abort ¦ git merge --abort ¦ git cherry-pick --abort
git am --abort ¦ git checkout-index -f -a ¦ git read-tree --reset -u HEAD ¦ git annex drop x ¦ git svn reset -r 2
hg update -C ¦ hg revert --all ¦ hg purge ¦ hg strip x ¦ svn revert -R . ¦ svn cleanup --remove-unversioned
svn delete x ¦ jj abandon x ¦ jj op restore x ¦ bfg --delete-files x ¦ echo x > /dev/sda ¦ cat x > /dev/sda
tee /dev/sda ¦ tee /dev/nvme0n1 < x ¦ cp x /dev/sda ¦ cp x /dev/disk/by-id/x ¦ dd if=/dev/zero of=/dev/sda
dd if=a of=/dev/mmcblk0 ¦ cat x > /dev/mapper/vg-lv ¦ echo x >> /dev/sdb1 ¦ cat /dev/zero > /dev/loop0 ¦ mv x /dev/sda
pv x > /dev/sda ¦ echo b > /proc/sysrq-trigger ¦ echo c | tee /proc/sysrq-trigger ¦ > log.txt ¦ : > log.txt
true > log.txt ¦ cat /dev/null > log.txt ¦ echo -n > log.txt ¦ echo -n '' > log.txt ¦ printf '' > log.txt
cp /dev/null log.txt ¦ truncate -s 0 log.txt ¦ truncate --size=0 log.txt ¦ truncate -s0 log.txt
dd if=/dev/null of=log.txt ¦ >| log.txt ¦ ls | parallel rm ¦ parallel rm ::: a ¦ ls | xargs rm
find . | xargs -0 rm -f ¦ gradle clean ¦ ./gradlew clean ¦ gradle clean build ¦ bazel clean --expunge ¦ bazel clean
ninja -t clean ¦ ninja clean ¦ cmake --build . --target clean ¦ cmake --build build -t clean
cmake --build build --clean-first ¦ cmake -E rm -rf x ¦ cmake -E remove_directory x ¦ flutter clean ¦ dotnet clean
mvn clean ¦ ./mvnw clean install ¦ mvn clean install ¦ make clean ¦ make distclean ¦ make mrproper ¦ make uninstall
make -C sub clean ¦ cargo clean ¦ go clean -cache ¦ go clean -modcache ¦ npm run clean ¦ yarn clean ¦ pnpm run clean
sbt clean ¦ lein clean ¦ stack clean ¦ cabal clean ¦ mix clean ¦ dart run build_runner clean ¦ xcodebuild clean
swift package clean ¦ zig build uninstall ¦ meson compile --clean ¦ scons -c ¦ ant clean ¦ rake clean ¦ rake clobber
mix deps.clean --all ¦ npx rimraf dist ¦ rimraf dist ¦ npx del-cli dist ¦ bundle clean --force
npm cache clean --force ¦ yarn cache clean ¦ pnpm store prune ¦ pip cache purge ¦ conda clean -a ¦ uv cache clean
uv cache prune ¦ brew cleanup ¦ docker builder prune ¦ buck clean ¦ buck2 clean ¦ pants clean-all ¦ jest --clearCache
pre-commit clean ¦ pre-commit gc ¦ poetry cache clear --all . ¦ composer clear-cache ¦ tox -e clean ¦ nx reset
turbo clean ¦ watchman watch-del-all ¦ ssh h rm -rf x ¦ ssh -p 22 ada@h rm -rf x ¦ ssh h 'rm -rf x'
ssh h "cd x && rm -rf y" ¦ ssh h 'git clean -fdx' ¦ ssh -t h -- rm x ¦ sshpass -p x ssh h rm x ¦ mosh h -- rm x
rsh h rm x ¦ pdsh -w h rm x ¦ kubectl exec x -- rm -rf / ¦ kubectl exec -it x -c y -- rm -rf /
kubectl exec x -n y -- sh -c 'rm -rf /data' ¦ kubectl exec x -- psql -c 'drop table a' ¦ oc exec x -- rm -rf /
oc rsh x rm -rf / ¦ docker exec c rm -rf / ¦ docker exec -it c sh -c 'rm -rf /data'
docker exec c psql -c 'drop table a' ¦ docker compose exec web rm -rf x ¦ docker-compose exec web rm -rf x
docker compose run --rm web rm -rf x ¦ docker run --rm -v /:/h alpine rm -rf /h
docker run -v "$PWD:/w" alpine rm -rf /w ¦ podman exec c rm -rf / ¦ podman run x rm -rf / ¦ nerdctl exec c rm -rf /
distrobox enter x -- rm -rf y ¦ toolbox run rm x ¦ lxc exec c -- rm -rf / ¦ multipass exec c -- rm -rf /
vagrant ssh -c 'rm -rf x' ¦ adb shell rm -rf /sdcard ¦ flatpak run x rm y ¦ crictl exec c rm -rf /
gcloud compute ssh x --command='rm -rf y' ¦ heroku run rm -rf x ¦ fly ssh console -C 'rm -rf x'
flyctl ssh console -C 'rm -rf x' ¦ aws ssm send-command --parameters 'commands=rm -rf x' ¦ kubectl debug x -- rm y
kubectl run x --image=y -- rm -rf z ¦ kubectl replace --force -f x.yaml ¦ kubectl delete pod x ¦ kubectl delete ns x
kubectl delete -f x.yaml ¦ kubectl drain n ¦ kubectl scale --replicas=0 deploy/x ¦ kubectl rollout undo deploy/x
kubectl apply --prune -f x ¦ kubectl cordon n ¦ kubectl -n x delete pod y ¦ kubectl --context p delete ns y
k delete pod x ¦ oc delete project x ¦ oc delete pod x ¦ kustomize build . | kubectl delete -f - ¦ helm uninstall x
helm delete x ¦ helm rollback x 1 ¦ helm repo remove x ¦ argocd app delete x ¦ flux uninstall
flux delete source git x ¦ istioctl uninstall --purge ¦ kind delete cluster ¦ minikube delete ¦ k3d cluster delete x
eksctl delete cluster x ¦ kops delete cluster x ¦ docker rm x ¦ docker rm -f x ¦ docker rmi x ¦ docker system prune -a
docker volume rm x ¦ docker volume prune ¦ docker network rm x ¦ docker image prune -a ¦ docker container prune
docker container rm x ¦ docker container kill x ¦ docker kill x ¦ docker stop x ¦ docker compose down
docker compose down -v ¦ docker compose rm -f ¦ docker compose kill ¦ docker-compose down -v ¦ docker stack rm x
docker secret rm x ¦ docker config rm x ¦ docker swarm leave --force ¦ docker service rm x ¦ docker node rm x
docker context rm x ¦ docker plugin rm x ¦ docker buildx prune ¦ docker buildx rm x ¦ docker image rm x
docker manifest rm x ¦ docker system prune --volumes -f ¦ docker -H tcp://x rm -f y ¦ podman rm x ¦ podman pod rm x
podman system reset ¦ podman machine rm x ¦ podman volume prune ¦ podman system prune ¦ podman kube down x.yaml
podman secret rm x ¦ buildah rm x ¦ buildah rmi x ¦ skopeo delete docker://x ¦ crictl rm x ¦ crictl rmi x
ctr image rm x ¦ nerdctl rm x ¦ nerdctl system prune ¦ terraform apply -destroy ¦ terraform destroy
terraform destroy -auto-approve ¦ terraform state rm x ¦ terraform workspace delete x ¦ terraform taint x
terraform -chdir=x destroy ¦ tofu destroy ¦ tofu apply -destroy ¦ tofu state rm x ¦ terragrunt destroy
terragrunt run-all destroy ¦ terragrunt apply -destroy ¦ pulumi destroy ¦ pulumi stack rm x ¦ pulumi state delete x
cdk destroy ¦ cdktf destroy ¦ sam delete ¦ serverless remove ¦ sls remove ¦ sst remove
ansible all -m shell -a 'rm -rf x' ¦ packer build -force x ¦ vagrant destroy -f ¦ vagrant box remove x
aws s3 rm s3://x ¦ aws s3 rb s3://x --force ¦ aws s3 sync . s3://x --delete ¦ aws s3 mv s3://x s3://y
aws s3api delete-object --bucket x --key y ¦ aws ec2 terminate-instances --instance-ids i-1
aws ec2 stop-instances --instance-ids i-1 ¦ aws rds delete-db-instance --db-instance-identifier x
aws dynamodb delete-table --table-name x ¦ aws cloudformation delete-stack --stack-name x
aws iam delete-user --user-name x ¦ aws lambda delete-function --function-name x
aws --profile p ec2 terminate-instances --instance-ids i-1 ¦ aws kms schedule-key-deletion --key-id x
aws logs delete-log-group --log-group-name x ¦ aws ecr batch-delete-image --repository-name x
aws ec2 deregister-image --image-id x ¦ aws ec2 release-address --allocation-id x ¦ aws sqs purge-queue --queue-url x
aws autoscaling detach-instances --instance-ids x ¦ gcloud compute instances delete x ¦ gcloud projects delete x
gcloud sql instances delete x ¦ gcloud container clusters delete x ¦ gcloud storage rm gs://x ¦ gsutil rm -r gs://x
gsutil rb gs://x ¦ gsutil rsync -d a gs://x ¦ gsutil -m rm gs://x ¦ bq rm -r x ¦ az group delete --name x
az vm delete -n x ¦ az storage blob delete-batch -s x ¦ az keyvault purge -n x ¦ az vm deallocate -n x
doctl compute droplet delete x ¦ hcloud server delete x ¦ linode-cli linodes delete 1 ¦ scw instance server delete x
oci compute instance terminate --instance-id x ¦ ibmcloud cs cluster rm x ¦ openstack server delete x
s3cmd del s3://x ¦ s3cmd rb s3://x ¦ mc rm --recursive x/y ¦ mc rb x/y ¦ b2 delete-file-version x ¦ rclone delete x:y
rclone purge x:y ¦ rclone sync a b ¦ rclone move a b ¦ rclone deletefile x:y ¦ rclone cleanup x: ¦ rclone rmdirs x:y
s5cmd rm s3://x ¦ azcopy remove x ¦ azcopy sync a b --delete-destination=true ¦ rsync -a --delete a/ b/
rsync -a --del a/ b/ ¦ rsync --delete-after -a a/ h:b/ ¦ rsync --remove-source-files -a a/ b/
rsync --delete-excluded a b ¦ lftp -e 'mirror --delete a b' h ¦ gh repo delete x --yes ¦ gh api -X DELETE repos/x/y
gh api --method DELETE repos/x/y ¦ gh api --method=DELETE repos/x/y ¦ gh api -XDELETE repos/x/y ¦ gh release delete v1
gh release delete-asset v1 x ¦ gh issue delete 1 ¦ gh pr close 1 --delete-branch ¦ gh secret delete X
gh secret remove X ¦ gh variable delete X ¦ gh run delete 1 ¦ gh workflow disable x ¦ gh cache delete --all
gh gist delete x ¦ gh label delete x ¦ gh codespace delete ¦ gh repo archive x ¦ gh repo rename x
gh extension remove x ¦ gh ssh-key delete 1 ¦ gh alias delete x ¦ gh project delete 1 ¦ gh auth logout
glab repo delete x ¦ glab mr delete 1 ¦ glab issue delete 1 ¦ glab release delete v1 ¦ glab api -X DELETE x
heroku pg:reset ¦ heroku apps:destroy x ¦ heroku destroy ¦ heroku addons:destroy x ¦ heroku config:unset X
heroku ps:stop x ¦ heroku pg:reset DATABASE --confirm x ¦ heroku domains:remove x ¦ fly apps destroy x
flyctl destroy x ¦ fly volumes destroy x ¦ fly machine destroy x ¦ vercel rm x ¦ vercel remove x --yes
vercel env rm X ¦ vercel project rm x ¦ netlify sites:delete x ¦ netlify env:unset X ¦ railway down ¦ railway delete
firebase projects:delete x ¦ firebase firestore:delete --all-collections ¦ firebase hosting:disable
firebase functions:delete x ¦ wrangler delete ¦ wrangler kv:namespace delete --namespace-id x
wrangler r2 bucket delete x ¦ wrangler d1 delete x ¦ supabase db reset ¦ supabase projects delete x
supabase stop --no-backup ¦ supabase functions delete x ¦ neonctl projects delete x ¦ planetscale database delete x
pscale database delete x ¦ dokku apps:destroy x ¦ cf delete x ¦ eb terminate x ¦ render services delete x
surge teardown x ¦ npm unpublish x ¦ npm unpublish --force ¦ npm prune ¦ npm uninstall x ¦ npm rm x
npm deprecate x y ¦ npm dist-tag rm x y ¦ npm access revoke x ¦ npm token revoke x ¦ npm owner rm a b ¦ pnpm prune
pnpm remove x ¦ yarn remove x ¦ yarn npm tag remove x ¦ bun remove x ¦ bun pm cache rm ¦ pip uninstall -y x
pip uninstall x ¦ pipx uninstall x ¦ pipx uninstall-all ¦ uv pip uninstall x ¦ uv tool uninstall x ¦ uv remove x
uv python uninstall 3.12 ¦ poetry remove x ¦ poetry env remove python ¦ pipenv uninstall --all ¦ pipenv --rm
pipenv clean ¦ pdm remove x ¦ pdm venv remove x ¦ hatch env prune ¦ hatch env remove x ¦ conda remove x
conda env remove -n x ¦ mamba env remove -n x ¦ micromamba env remove -n x ¦ cargo uninstall x ¦ cargo yank --vers 1 x
cargo remove x ¦ cargo owner --remove x ¦ gem uninstall x ¦ gem yank x ¦ gem cleanup ¦ composer remove x
brew uninstall x ¦ brew autoremove ¦ brew untap x ¦ rustup toolchain uninstall x ¦ rustup self uninstall
rustup target remove x ¦ nvm uninstall 18 ¦ volta uninstall x ¦ asdf uninstall x ¦ mise uninstall x ¦ mise prune
fnm uninstall x ¦ pyenv uninstall 3.11 ¦ rbenv uninstall x ¦ sdk uninstall java x ¦ nix-collect-garbage -d
nix-store --gc ¦ nix store gc ¦ nix store delete x ¦ nix profile remove x ¦ nix-env -e x ¦ flatpak uninstall x
flatpak remove x ¦ mas uninstall x ¦ gnome-extensions uninstall x ¦ psql -c 'DROP TABLE x' ¦ psql -c 'drop database x'
psql -c 'TRUNCATE x' ¦ psql -c 'truncate table x' ¦ psql -c 'delete from x' ¦ echo 'drop table x' | psql
psql <<< 'drop table x' ¦ psql -c 'alter table x drop column y' ¦ mysql -e 'DROP DATABASE x'
mysql -e 'DELETE FROM x' ¦ mysql -uroot -px -e 'truncate table x' ¦ mariadb -e 'drop table x' ¦ mysqladmin drop x
mysqladmin -uroot drop x ¦ mysqladmin shutdown ¦ mariadb-admin drop x ¦ dropdb x ¦ dropuser x
sqlite3 a.db 'drop table x' ¦ sqlite3 a.db 'delete from x' ¦ duckdb a.db 'drop table x' ¦ redis-cli FLUSHALL
redis-cli flushdb ¦ redis-cli del x ¦ redis-cli -h h DEL x ¦ redis-cli unlink x ¦ redis-cli shutdown
redis-cli -n 1 FLUSHDB ¦ valkey-cli FLUSHALL ¦ keydb-cli flushall ¦ mongosh --eval 'db.dropDatabase()'
mongosh x --eval 'db.c.drop()' ¦ mongosh --eval 'db.c.deleteMany({})' ¦ mongosh --eval 'db.c.remove({})'
mongo --eval 'db.dropDatabase()' ¦ mongorestore --drop x ¦ pg_restore --clean -d x a ¦ pg_restore -c -d x a
cqlsh -e 'drop keyspace x' ¦ clickhouse-client -q 'drop table x' ¦ clickhouse client --query 'truncate table x'
influx delete --bucket x ¦ influx bucket delete -n x ¦ etcdctl del x ¦ consul kv delete x ¦ vault delete x
vault kv delete x ¦ vault kv destroy x ¦ vault kv metadata delete x ¦ vault secrets disable x ¦ vault lease revoke x
vault token revoke x ¦ nomad job stop -purge x ¦ nomad stop x ¦ nomad system gc ¦ kafka-topics --delete --topic x
kafka-topics.sh --delete --topic x ¦ kafka-delete-records.sh --offset-json-file x
kafka-consumer-groups --delete --group x ¦ rabbitmqctl delete_queue x ¦ rabbitmqctl reset ¦ rabbitmqctl purge_queue x
rabbitmqadmin delete queue name=x ¦ nats stream rm x ¦ nats stream purge x ¦ curl -X DELETE http://x/y
curl -XDELETE localhost:9200/x ¦ curl --request DELETE http://x ¦ curl --request=DELETE http://x ¦ http DELETE x
https DELETE x ¦ xh delete x ¦ wget --method=DELETE http://x ¦ cockroach sql -e 'drop table x'
sqlcmd -Q 'drop table x' ¦ bq query 'drop table x' ¦ snowsql -q 'drop table x' ¦ virsh destroy x ¦ virsh undefine x
virsh vol-delete x ¦ virsh snapshot-delete x y ¦ virsh pool-destroy x ¦ VBoxManage unregistervm x --delete
VBoxManage controlvm x poweroff ¦ vboxmanage snapshot x delete y ¦ lxc delete x ¦ lxc delete -f x ¦ lxc image delete x
incus delete x ¦ multipass delete x ¦ multipass purge ¦ limactl delete x ¦ colima delete ¦ k3d delete x ¦ orb delete x
orbctl delete x ¦ qm destroy 100 ¦ pct destroy 100 ¦ machinectl remove x ¦ wsl --unregister x ¦ tart delete x
vmrun deleteVM x ¦ prlctl delete x ¦ xe vm-destroy uuid=x ¦ nvme format /dev/nvme0 ¦ nvme sanitize /dev/nvme0
hdparm --security-erase x /dev/sda ¦ hdparm --yes-i-know-what-i-am-doing --trim-sector-ranges 1:1 /dev/sda
sg_format /dev/sda ¦ sgdisk --zap-all /dev/sda ¦ sgdisk -Z /dev/sda ¦ sfdisk --delete /dev/sda ¦ sfdisk /dev/sda
fdisk /dev/sda ¦ gdisk /dev/sda ¦ cfdisk /dev/sda ¦ parted /dev/sda mklabel gpt ¦ parted -s /dev/sda rm 1
diskutil eraseDisk JHFS+ x disk0 ¦ diskutil apfs deleteContainer x ¦ wipefs -a /dev/sda ¦ blkdiscard /dev/sda
mkfs.ext4 /dev/sda1 ¦ mkfs -t xfs /dev/sda1 ¦ mke2fs /dev/sda1 ¦ mkswap /dev/sda1 ¦ mkntfs /dev/sda1 ¦ newfs /dev/sda
cryptsetup luksFormat /dev/sda1 ¦ cryptsetup luksErase /dev/sda1 ¦ cryptsetup erase /dev/sda1 ¦ badblocks -w /dev/sda
lvremove x ¦ vgremove x ¦ pvremove x ¦ lvreduce -L 1G x ¦ lvresize -L 1G x ¦ pvcreate /dev/sda
mdadm --zero-superblock /dev/sda ¦ mdadm --stop /dev/md0 ¦ mdadm --create /dev/md0 x ¦ zfs destroy x ¦ zfs rollback x
zpool destroy x ¦ zpool create x /dev/sda ¦ zpool labelclear /dev/sda ¦ btrfs subvolume delete x
btrfs device remove x y ¦ mkfs.btrfs /dev/sda ¦ dmsetup remove x ¦ losetup -d /dev/loop0 ¦ resize2fs /dev/sda1 1G
e2fsck -y /dev/sda1 ¦ fsck -y /dev/sda1 ¦ xfs_repair -L /dev/sda1 ¦ tune2fs -O x /dev/sda1 ¦ debugfs -w /dev/sda1
swapoff -a ¦ fallocate --punch-hole -o 0 -l 1 a ¦ fallocate -p -o 0 -l 1 a ¦ fallocate -c -o 0 -l 1 a
fallocate --collapse-range -o 0 -l 4096 a ¦ fallocate -z -o 0 -l 1 a ¦ trash-empty ¦ trash-rm x ¦ trash x
trash-put x ¦ gio trash x ¦ gio trash --empty ¦ gio remove x ¦ gvfs-trash x ¦ kioclient5 remove x ¦ rm -rf x ¦ rm x
rmdir x ¦ unlink x ¦ shred -u x ¦ shred x ¦ wipe x ¦ wipe -rf x ¦ srm x ¦ scrub x ¦ sdelete x
find . -name '*.o' -delete ¦ find . -exec rm {} + ¦ fd -x rm ¦ fd -e o -X rm ¦ fd -x rm -rf {} ¦ fdfind x -x rm
tar cf a.tar --remove-files x ¦ tar --delete -f a.tar x ¦ zip -m a.zip x ¦ zip -d a.zip x ¦ 7z d a.7z x
7z a -sdel a.7z x ¦ busybox rm x ¦ busybox rm -rf x ¦ toybox rm x ¦ env rm x ¦ nice rm x ¦ timeout 5 rm x ¦ nohup rm x
setsid rm x ¦ stdbuf -o0 rm x ¦ xargs rm ¦ watch rm x ¦ entr rm x ¦ ls | entr rm x ¦ time rm x ¦ command rm x
exec rm x ¦ builtin eval 'rm x' ¦ bash -c 'rm x' ¦ sh -c "rm x" ¦ eval 'rm x' ¦ echo 'rm x' | sh
python -c "import shutil; shutil.rmtree('x')" ¦ python -c "import os; os.remove('x')" ¦ node -e "fs.rmSync('x')"
perl -e 'unlink "x"' ¦ ruby -e 'File.delete("x")' ¦ php -r 'unlink("x");' ¦ awk 'BEGIN{system("rm x")}' ¦ history -c
history -d 5 ¦ kill 1 ¦ kill -9 123 ¦ killall x ¦ pkill x ¦ pkill -f x ¦ skill x ¦ fuser -k 80/tcp ¦ tmux kill-server
tmux kill-session -t x ¦ xkill ¦ pm2 delete all ¦ pm2 kill ¦ supervisorctl stop all ¦ crontab -r ¦ at -r 1 ¦ atrm 1
tmutil delete x ¦ tmutil deletelocalsnapshots x ¦ restic forget --prune ¦ restic prune ¦ restic forget --keep-last 1
borg delete x ¦ borg prune x ¦ borg compact x ¦ duplicity remove-older-than 1D x ¦ kopia snapshot delete x
timeshift --delete ¦ snapper delete 1 ¦ bup gc ¦ rdiff-backup --remove-older-than 1D x ¦ pass rm x
gpg --delete-secret-keys x ¦ gpg --delete-keys x ¦ security delete-generic-password x ¦ keyctl purge x
ssh-keygen -R h ¦ op item delete x ¦ bw delete item x ¦ docker-machine rm x ¦ ollama rm x
huggingface-cli delete-cache ¦ hf cache delete ¦ dvc gc -w ¦ dvc remove x ¦ wandb artifact rm x
jupyter kernelspec uninstall x ¦ gsettings reset-recursively x ¦ dconf reset -f / ¦ defaults delete x
journalctl --vacuum-size=1M ¦ journalctl --vacuum-time=1d ¦ journalctl --rotate ¦ dmesg -C ¦ dmesg --clear
docker volume remove x ¦ rails db:drop ¦ rake db:drop ¦ rake db:reset ¦ bundle exec rake db:drop ¦ bin/rails db:drop
php artisan migrate:fresh ¦ php artisan db:wipe ¦ artisan migrate:fresh ¦ python manage.py flush ¦ django-admin flush
mix ecto.drop ¦ mix ecto.reset ¦ npx prisma migrate reset ¦ prisma db push --force-reset ¦ npx sequelize-cli db:drop
knex migrate:rollback ¦ npx typeorm schema:drop ¦ flyway clean ¦ liquibase drop-all ¦ diesel database reset
sqlx database drop ¦ sqlx database reset ¦ dbmate drop ¦ atlas schema clean ¦ goose down ¦ goose reset
migrate -path x -database y drop ¦ alembic downgrade base ¦ flask db downgrade ¦ wp db reset ¦ wp db drop
wp post delete 1 ¦ drush sql-drop
""")
OTHER_RIGHTS = lines(r"""
install -m 4755 a b ¦ install -m u+s a b ¦ install --mode=4755 a b ¦ install -o root a b ¦ install --owner=root a b
install -g root a b ¦ chmod u+s a ¦ chmod 4755 a ¦ chmod +s a ¦ chmod 2755 a ¦ chmod g+s a ¦ chmod 777 /etc
chmod 6755 a ¦ chown root a ¦ chown -R ada:ada . ¦ chgrp x a ¦ setfacl -m u:x:rw a ¦ chattr +i a ¦ chattr -i a
setcap cap_net_raw+ep a ¦ setcap -r a ¦ capsh --print ¦ mknod a b 1 2 ¦ echo x >> /etc/sudoers
echo x > /etc/sudoers.d/a ¦ tee /etc/sudoers ¦ echo x | tee -a /etc/sudoers ¦ echo x | tee /etc/sudoers.d/a
cp a /etc/sudoers ¦ cp a /etc/sudoers.d/x ¦ mv a /etc/passwd ¦ sed -i s/a/b/ /etc/sudoers
echo 1 > /proc/sys/net/ipv4/ip_forward ¦ echo 1 | tee /proc/sys/x ¦ echo x > /proc/1/oom_adj ¦ echo 1 > /sys/class/x
echo 0 > /sys/block/sda/queue/x ¦ tee /sys/x ¦ echo x >> /etc/hosts ¦ echo x > /etc/passwd ¦ echo x >> /etc/crontab
echo x > /etc/systemd/system/x.service ¦ dd if=a of=/etc/passwd ¦ ln -s a /usr/local/bin/x ¦ cp a /usr/local/bin/
install a /usr/local/bin/ ¦ cp a /etc/cron.d/x ¦ docker exec --privileged c ls ¦ docker exec -u root c ls
docker exec -u 0 c ls ¦ docker exec --user root c ls ¦ docker exec --user=0 c ls ¦ docker exec -uroot c ls
docker exec -itu root c sh ¦ docker run --privileged x ¦ docker run --rm -it --privileged x
docker run --cap-add SYS_ADMIN x ¦ docker run --cap-add=ALL x ¦ docker run --pid=host x ¦ docker run --pid host x
docker run --net=host x ¦ docker run --network host x ¦ docker run --ipc=host x ¦ docker run --userns=host x
docker run --security-opt seccomp=unconfined x ¦ docker run -v /:/host x
docker run -v /var/run/docker.sock:/var/run/docker.sock x ¦ docker run --device /dev/sda x ¦ docker run -u root x
docker run --user 0 x ¦ docker compose exec --privileged web ls ¦ docker compose exec -u root web ls
docker create --privileged x ¦ podman run --privileged x ¦ podman exec -u root c ls ¦ podman exec --privileged c ls
nerdctl run --privileged x ¦ kubectl exec -it x -- sudo ls ¦ kubectl debug node/x -it --image=y ¦ ssh h sudo reboot
ssh h 'sudo systemctl restart x' ¦ docker exec c sudo ls ¦ docker exec c apt-get install -y x
docker run x apt-get update ¦ sudo ls ¦ sudo -i ¦ sudo -u x ls ¦ sudo rm -rf / ¦ doas ls ¦ su ¦ su -c ls ¦ su - x
pkexec ls ¦ runuser -u x ls ¦ gosu x ls ¦ su-exec x ls ¦ setpriv --reuid=1 ls ¦ chpst -u x ls ¦ setuidgid x ls
envuidgid x ls ¦ s6-setuidgid x ls ¦ runas x ¦ run0 ls ¦ sg x ls ¦ newgrp x ¦ gksudo x ¦ machinectl shell
nsenter -t 1 -m ls ¦ unshare -r ls ¦ unshare --map-root-user ls ¦ chroot x ls ¦ arch-chroot x ls ¦ systemd-nspawn -D x
systemd-run ls ¦ renice -10 1 ¦ nice -n -20 ls ¦ prlimit --pid 1 --nofile=1 ¦ prlimit --nofile=1 ls ¦ nix-env -i x
nix-env -iA nixpkgs.x ¦ nix profile install x ¦ systemctl stop x ¦ systemctl disable x ¦ systemctl mask x
systemctl restart x ¦ systemctl start x ¦ systemctl enable --now x ¦ systemctl daemon-reload ¦ systemctl edit x
systemctl set-default x ¦ systemctl kill x ¦ systemctl isolate rescue.target ¦ systemctl poweroff ¦ systemctl reboot
service x stop ¦ service x restart ¦ rc-service x stop ¦ rc-update del x ¦ update-rc.d x remove ¦ chkconfig x off
launchctl unload x ¦ launchctl bootout x ¦ launchctl load x ¦ initctl stop x ¦ sv stop x ¦ hostnamectl set-hostname x
timedatectl set-time x ¦ localectl set-locale x ¦ hostname x ¦ iptables -F ¦ iptables -A INPUT -j DROP ¦ ip6tables -F
iptables-restore < x ¦ nft flush ruleset ¦ ufw disable ¦ ufw allow 22 ¦ firewall-cmd --add-port=80/tcp ¦ pfctl -d
ebtables -F ¦ ip link set eth0 down ¦ ip addr add 1.2.3.4 dev eth0 ¦ ip route del default ¦ ip netns exec x ls
ifconfig eth0 down ¦ route add default gw x ¦ nmcli con down x ¦ tc qdisc del dev eth0 root ¦ ethtool -s eth0 x
iwconfig x ¦ wg-quick up x ¦ brctl addbr x ¦ ovs-vsctl x ¦ arp -d x ¦ netplan apply ¦ useradd x ¦ userdel x
usermod -aG sudo x ¦ adduser x ¦ deluser x ¦ groupadd x ¦ groupdel x ¦ groupmod x ¦ gpasswd -a x y ¦ passwd x
chpasswd < x ¦ chsh -s x ¦ chfn x ¦ chage -d 0 x ¦ vipw ¦ visudo ¦ newusers x ¦ dscl . -delete /Users/x ¦ mount a b
mount -o remount,rw / ¦ umount x ¦ umount -l /x ¦ fusermount -u x ¦ losetup /dev/loop0 a ¦ swapon x ¦ modprobe x
rmmod x ¦ insmod x ¦ depmod ¦ kexec -l x ¦ sysctl -w x=1 ¦ sysctl x=1 ¦ sysctl -p ¦ date -s x ¦ hwclock -w ¦ ntpdate x
chronyc makestep ¦ crontab -e ¦ crontab x ¦ at now ¦ batch ¦ shutdown now ¦ shutdown -h now ¦ reboot ¦ halt ¦ poweroff
init 0 ¦ telinit 6 ¦ apt install x ¦ apt-get remove x ¦ apt purge x ¦ apt autoremove ¦ apt-get update
apt-get dist-upgrade ¦ aptitude install x ¦ dpkg -i x.deb ¦ dpkg -r x ¦ dpkg --purge x ¦ dpkg-reconfigure x
apt-mark hold x ¦ apt-key add x ¦ add-apt-repository x ¦ update-alternatives --set x y ¦ yum install x ¦ yum remove x
dnf remove x ¦ rpm -i x ¦ rpm -e x ¦ zypper rm x ¦ pacman -S x ¦ pacman -Rns x ¦ yay -S x ¦ paru -S x ¦ apk add x
apk del x ¦ emerge x ¦ emerge --unmerge x ¦ snap install x ¦ snap remove x ¦ pkg install x ¦ pkg delete x
xbps-install x ¦ opkg install x ¦ slackpkg install x ¦ eopkg install x ¦ swupd bundle-add x ¦ rpm-ostree install x
softwareupdate -i x ¦ update-grub ¦ grub-install x ¦ update-initramfs -u ¦ efibootmgr -B x ¦ bootctl install ¦ dracut
setenforce 0 ¦ semanage x ¦ setsebool x 1 ¦ restorecon -R x ¦ chcon x y ¦ aa-disable x ¦ apparmor_parser -R x
auditctl -e 0 ¦ csrutil disable ¦ spctl --master-disable ¦ nvram x=1 ¦ pmset sleep 1 ¦ scutil --set x
networksetup -setdnsservers x ¦ tcpdump -i eth0 ¦ setquota x ¦ quotaoff x ¦ edquota x ¦ kubectl auth reconcile -f x
kubectl create clusterrolebinding x ¦ kubectl create rolebinding x ¦ kubectl certificate approve x
aws iam create-access-key ¦ aws iam attach-user-policy --user-name x ¦ aws iam put-user-policy --user-name x
aws sts assume-role --role-arn x ¦ gcloud projects add-iam-policy-binding x ¦ az role assignment create --role x
vault operator seal ¦ dseditgroup x ¦ authconfig x ¦ realm join x ¦ kadmin.local x ¦ ldapdelete x ¦ ldapmodify x
smbpasswd x ¦ samba-tool user delete x ¦ ldconfig ¦ locale-gen ¦ update-ca-certificates ¦ mokutil --disable-validation
fwupdmgr update ¦ flashrom -w x ¦ devmem 0x1 w 1 ¦ wrmsr x ¦ udevadm trigger ¦ rfkill block all
""")

MILD: dict[str, list[str]] = {
    "read-only": lines(r"""
git log --grep=filter-repo ¦ git log --oneline -- filter-repo ¦ git show drop ¦ git log --grep 'merge --abort'
git reflog show ¦ git status ¦ just --list ¦ docker ps ¦ docker logs stop ¦ docker logs --tail 5 rm
docker compose logs stop ¦ docker compose ps ¦ docker image ls rm ¦ docker images ¦ docker-compose logs stop
pip list ¦ brew list ¦ echo x > /dev/null ¦ echo x > /dev/stderr ¦ ls > /dev/null 2>&1 ¦ nice ls ¦ nice -n 5 ls
sdk list
"""),
    "workspace": lines(r"""
git restore --staged . ¦ git merge x ¦ npm test -- clean ¦ npm run build ¦ yarn test ¦ pnpm -r run build ¦ make test
make all ¦ gradle test ¦ ./gradlew test ¦ mvn test ¦ bazel test //x:clean ¦ bazel query //... ¦ ninja -C build
cmake --build build ¦ cmake -S . -B build -G Ninja ¦ cmake --build build --target test ¦ cargo test clean
cargo build ¦ cargo clippy ¦ fallocate -l 1G f ¦ install -m 755 a b ¦ install -m 0644 a b ¦ install -d x
install -Dm755 a b ¦ chmod +x a ¦ chmod 755 a ¦ chmod +x c++/src ¦ chmod 644 a ¦ chmod u+x,g+r s ¦ uv run pytest
zip -r a.zip x ¦ 7z x a.7z ¦ 7z a a.7z x ¦ tar xf a.tar ¦ rake test ¦ rake spec ¦ mix test ¦ mix deps.get
swift build ¦ flutter test ¦ xcodebuild test ¦ jest ¦ tox ¦ tox -e py312 ¦ tox -e lint ¦ nx test ¦ turbo build
echo x > /dev/tty ¦ echo x > a ¦ { ls; } > a ¦ for f in a b; do echo $f; done > a ¦ if true; then ls; fi > a
(ls) > a ¦ echo a >> b ¦ printf 'x' > f ¦ tee a ¦ latexmk -cd a ¦ scons ¦ meson compile -C build
pre-commit run --all-files ¦ hatch run test ¦ dvc pull ¦ bun test ¦ bun run build
"""),
    "network": lines(r"""
npm view rm ¦ npm install un ¦ docker build -t rm . ¦ docker build -t x . ¦ docker run --rm alpine ls
docker run --rm -it -v "$PWD:/w" -w /w node:20 npm test ¦ docker run -u 1000:1000 x ls ¦ docker run -p 80:80 nginx
docker run -e A=b x ¦ docker compose up -d ¦ kubectl get pods ¦ kubectl get role ¦ kubectl describe pod x
kubectl apply -f x.yaml ¦ kubectl logs x ¦ kubectl exec x -- ls ¦ kubectl exec -it x -- cat a
kubectl scale --replicas=3 deploy/x ¦ kubectl rollout restart deploy/x ¦ kubectl create ns x ¦ helm install x y
helm list ¦ terraform plan ¦ terraform apply ¦ tofu plan ¦ terragrunt plan ¦ aws s3 ls ¦ aws s3 cp a s3://x
aws ec2 describe-instances ¦ aws iam list-users ¦ aws iam get-user ¦ aws s3 sync . s3://x
gcloud compute instances list ¦ gcloud config list ¦ az vm list ¦ gh pr list ¦ gh issue list --label archive
gh search issues delete ¦ gh issue create --title delete ¦ gh pr create --title x --body y ¦ gh api repos/x/y
gh pr merge 1 ¦ heroku logs ¦ heroku ps ¦ fly status ¦ vercel deploy ¦ ssh h ¦ ssh h ls ¦ ssh h 'cat a | grep b'
ssh h uptime ¦ ssh -L 80:x:80 h ¦ redis-cli get x ¦ redis-cli -h h ping ¦ mongosh --eval 'db.c.find()'
psql -c 'select 1' ¦ mysql -e 'select 1' ¦ pg_restore -Fc -d x a ¦ vault read x ¦ vault status ¦ vault kv get x
pip install x ¦ uv sync ¦ uv pip install x ¦ poetry install ¦ conda install x ¦ brew install x ¦ rustup update
nvm use 18 ¦ rclone copy a b ¦ rclone ls x: ¦ restic snapshots ¦ borg list ¦ http GET x ¦ http x delete=1
wget http://x ¦ curl http://x ¦ curl -X POST http://x ¦ npx jest ¦ npx eslint . ¦ lftp h ¦ bq query 'select 1'
composer install ¦ pdm install ¦ fnm use 18 ¦ adb devices ¦ adb shell ls ¦ ansible all -m ping
ansible-playbook x.yml ¦ vagrant up ¦ pulumi up ¦ cdk deploy
"""),
    "arbitrary": lines(r"""
dotnet test ¦ docker exec c ls ¦ docker exec -it c bash ¦ docker exec -u app c ls ¦ docker compose exec web pytest
virsh list ¦ lxc list ¦ multipass list ¦ uv run clean ¦ x=1 > a ¦ foo bar ¦ foo list ¦ ./manage.py migrate
python manage.py migrate app ¦ python manage.py render x ¦ mytool deploy ¦ nix build ¦ nix develop ¦ dconf read /x
gsettings get a b ¦ defaults read x ¦ gpg --verify a ¦ gpg --list-keys ¦ security find-certificate ¦ jj log ¦ jj new
mc ls x ¦ pm2 list ¦ flyway migrate ¦ diesel migration run ¦ sqlx migrate run ¦ goose up ¦ alembic upgrade head
wp post list
"""),
}
