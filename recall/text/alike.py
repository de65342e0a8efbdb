"""Everyday words that may stand for each other in a question and its answer: sofa and couch, 工资 and 薪水.

The encoder hardly sees what a kind and its members have in common, and a question rarely uses the word of the answer.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Final

from recall.text.words import terms_of, tokens_of

__all__ = ["alike"]

# A group a line, Chinese among the English. A kind stands beside its usual members.
_GROUPS: Final = """
sofa couch settee 沙发 长沙发
doctor physician gp 医生 大夫 医师
dentist orthodontist 牙医 牙科
pet pets cat cats dog dogs puppy kitten hamster parrot 宠物 猫 狗 猫咪 小狗
flat apartment condo 公寓
house home 房子 家里
flower flowers orchid orchids rose roses tulip tulips lily lilies 花 鲜花 兰花 玫瑰 百合
plant plants garden 植物 花园 绿植
salary wage wages income earnings 工资 薪水 薪资 月薪 收入
rent lease 房租 租金
mortgage loan 房贷 贷款
kid kids child children son daughter toddler baby 孩子 儿子 女儿 小孩 宝宝
parents mother father mom dad mum 父母 爸妈 妈妈 爸爸 母亲 父亲
grandparents grandmother grandfather grandma grandpa 爷爷 奶奶 外公 外婆 姥姥
sibling siblings brother sister 兄弟姐妹 哥哥 姐姐 弟弟 妹妹
spouse husband wife partner 配偶 老公 老婆 丈夫 妻子 爱人 对象
girlfriend boyfriend 女朋友 男朋友 女友 男友
relative relatives cousin aunt uncle 亲戚 表哥 表姐 堂弟 姑姑 叔叔 舅舅
friend friends buddy pal 朋友 好友 闺蜜
colleague colleagues coworker coworkers teammate 同事 队友
boss manager supervisor 老板 领导 经理 上司
company firm employer 公司 单位 雇主
job work occupation profession career 工作 职业 上班 职位
office workplace desk 办公室 工位
school college university 学校 大学 学院
teacher professor tutor instructor 老师 教授 教师
student pupil 学生
exam test quiz 考试 测验
major degree 专业 学位
lawyer attorney solicitor 律师
nurse caregiver 护士 护工
car vehicle automobile suv 车 汽车 车子
bike bicycle cycling 自行车 单车 骑车
train railway rail 火车 高铁
plane flight fly airline 飞机 航班 机票
bus coach 公交 巴士 大巴
subway metro underground 地铁
commute 通勤
trip travel journey vacation holiday 旅行 旅游 出行 度假 假期
hotel hostel inn 酒店 宾馆 旅馆
luggage suitcase baggage 行李 箱子
passport visa 护照 签证
phone mobile cellphone smartphone 手机 电话
laptop computer pc notebook 电脑 笔记本
tv television 电视
movie movies film films cinema 电影 影片
show series drama 剧 电视剧 连续剧
song songs music album 歌 音乐 歌曲 专辑
band singer musician 乐队 歌手
instrument guitar piano violin cello drums ukulele flute 乐器 吉他 钢琴 小提琴 大提琴
book books novel read reading 书 小说 看书 读书
author writer 作家 作者
game games gaming 游戏
hobby hobbies pastime 爱好 兴趣
sport sports exercise workout fitness gym 运动 锻炼 健身
run running jog jogging marathon 跑步 慢跑 马拉松
swim swimming 游泳
hike hiking trek 徒步 爬山 登山
football soccer 足球
basketball 篮球
painting paint draw drawing art 画画 绘画 美术
photo photos picture pictures photography camera 照片 拍照 摄影 相机
dance dancing ballet 跳舞 舞蹈
cook cooking bake baking 做饭 做菜 烹饪 烘焙
food meal dish cuisine 食物 饭菜 菜
breakfast 早饭 早餐
lunch 午饭 午餐
dinner supper 晚饭 晚餐
snack snacks 零食
restaurant diner eatery 餐厅 饭店 餐馆
drink drinks beverage 饮料 喝
coffee latte espresso cappuccino 咖啡 拿铁
tea oolong 茶 乌龙 绿茶 红茶
alcohol beer wine liquor 酒 啤酒 葡萄酒 白酒
vegetarian vegan meat-free 素食 吃素
meat beef pork lamb chicken 肉 牛肉 猪肉 羊肉 鸡肉
seafood fish shrimp prawns shellfish crab 海鲜 鱼 虾 贝类 螃蟹
fruit apple mango durian banana 水果 苹果 芒果 榴莲 香蕉
vegetable vegetables greens 蔬菜 青菜
spicy chili hot 辣 辣椒
sweet dessert sugar 甜 甜点 甜食 糖
dairy milk cheese lactose 奶制品 牛奶 奶酪 乳糖
nut nuts peanut peanuts almond 坚果 花生 杏仁
allergy allergic allergies 过敏
illness sick disease ill condition 病 生病 疾病
medicine medication pills drug prescription 药 药物 吃药
diabetes insulin 糖尿病 胰岛素
asthma inhaler 哮喘
sleep insomnia bedtime 睡觉 失眠 睡眠
diet weight 减肥 饮食 体重
smoke smoking cigarette cigarettes 抽烟 吸烟 烟
birthday born birth 生日 出生
age old years 年纪 岁 年龄
wedding married marry marriage 结婚 婚礼
divorce divorced separated 离婚
pregnant pregnancy expecting 怀孕 预产期
name called nickname 名字 叫 昵称
address street 地址 住址
hometown birthplace 老家 家乡
city town 城市
live lives living reside 住 居住
move moved moving relocate 搬家 搬
buy bought purchase shop shopping 买 购买 购物
price cost expensive cheap budget 价格 价钱 多少钱 预算
gift gifts present presents 礼物
clothes clothing dress shirt outfit 衣服 裙子 衬衫
shoe shoes sneakers boots 鞋 鞋子 运动鞋
colour color red blue green yellow black white purple pink 颜色 红色 蓝色 绿色 黄色 黑色 白色 紫色
size sizes 尺码 尺寸
appointment booking reservation 预约 预订
meeting standup sync 会议 开会 例会
deadline due 截止 期限
interview 面试
weekend saturday sunday 周末 周六 周日
morning mornings 早上 上午
evening evenings night nights 晚上 夜里
server host machine 服务器 主机
database db postgres mysql mongodb sqlite 数据库
queue kafka rabbitmq 队列 消息队列
deploy deployment release rollout 部署 发布 上线
repo repository codebase 仓库 代码库
bug defect issue 缺陷 问题
password passcode code 密码 口令
wifi wi-fi internet network 网络 无线网
religion church muslim christian buddhist 宗教 教会 信仰
language languages english chinese spanish french german 语言 英语 中文 西班牙语 法语 德语
country nationality 国家 国籍
money savings bank account 钱 存款 银行 账户
insurance policy 保险
volunteer volunteering charity donate 志愿者 公益 捐款
scared afraid fear phobia 害怕 怕 恐惧
love like enjoy favourite favorite prefer 喜欢 爱 最爱 偏好
hate dislike avoid 讨厌 不喜欢 避免
"""


def alike(terms: Iterable[int]) -> Iterator[int]:
    """Yield the terms of words that may stand for those of a message."""
    table = _table()
    for term in terms:
        yield from table.get(term, ())


@cache
def _table() -> Mapping[int, tuple[int, ...]]:
    """Return the terms of the other words of each word's groups, by the word's first term."""
    table: dict[int, dict[int, None]] = {}
    for line in _GROUPS.split("\n"):
        words = [terms for word in line.split() if (terms := tuple(terms_of(tokens_of(word))))]
        for word in words:
            others = (other for each in words if each != word for other in each)
            table.setdefault(word[0], {}).update(dict.fromkeys(others))
    return {term: tuple(others) for term, others in table.items()}
